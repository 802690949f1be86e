// The stream from the server. It connects again by itself, and each connection begins with the whole view.
import type { EventName, Events } from "../view/wire.ts";

type Handlers = {
  readonly [E in EventName]: (data: Events[E]) => void;
};

/**
 * A page that is not visible for this long gives its connection back: a browser opens only six to one server, so a
 * seventh tab would wait without an end.
 */
const HIDDEN_MS = 5_000;

/** After the server has refused the stream, which a browser does not try again. */
const RETRY_MS = 5_000;

export class Connection {
  readonly #handlers: Handlers;
  readonly #onState: (text: string) => void;
  #source: EventSource | undefined;
  #group: string | undefined;
  #retry: number | undefined;
  #hiding: number | undefined;

  constructor(handlers: Handlers, onState: (text: string) => void) {
    this.#handlers = handlers;
    this.#onState = onState;
    document.addEventListener("visibilitychange", () => this.#visibilityChanged());
  }

  /** Shows the Pods of this group from now on. */
  open(group: string | undefined): void {
    this.#close();
    this.#group = group;
    // Relative, so that a proxy may serve the page below a path of its own.
    const source = new EventSource(group === undefined ? "events" : `events?group=${encodeURIComponent(group)}`);
    this.#source = source;
    this.#listen(source, "groups");
    this.#listen(source, "detail");
    this.#listen(source, "pods");
    this.#listen(source, "problems");
    source.addEventListener("open", () => this.#onState("Live"));
    source.addEventListener("error", () => {
      this.#onState("The dashboard's server does not answer. What is shown may be old; connecting again …");
      if (source.readyState !== EventSource.CLOSED || source !== this.#source) return;
      this.#retry = setTimeout(() => this.open(group), RETRY_MS);
    });
  }

  #visibilityChanged(): void {
    clearTimeout(this.#hiding);
    if (document.visibilityState === "visible") {
      if (this.#source === undefined) this.open(this.#group);
    } else {
      this.#hiding = setTimeout(() => {
        this.#close();
        this.#onState("Paused while the page is not visible");
      }, HIDDEN_MS);
    }
  }

  #close(): void {
    clearTimeout(this.#retry);
    this.#source?.close();
    this.#source = undefined;
  }

  #listen<E extends EventName>(source: EventSource, name: E): void {
    source.addEventListener(name, ({ data }: MessageEvent<string>) => {
      if (source === this.#source) this.#handlers[name](JSON.parse(data) as Events[E]);
    });
  }
}
