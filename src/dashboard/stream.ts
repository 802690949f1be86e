// The stream of server-sent events to every open page. What has changed is encoded once and shared by all clients that
// look at the same group. Nothing is queued without bound: a client that does not keep up is cut off, and its browser
// connects again and gets the whole view.
import type { ServerResponse } from "node:http";
import type { Model } from "./view/model.ts";
import type { Problems } from "./view/problems.ts";
import type { EventName, Events } from "./view/wire.ts";

export interface StreamLimits {
  readonly clients: number;
  /** Not yet sent to one client. The first events for 10,000 Pods take about 1 MB. */
  readonly bufferedBytes: number;
  /** How long a client may take nothing at all of what waits for it. */
  readonly stalledMs: number;
  /** Changes within this time become one event. */
  readonly gatherMs: number;
  /** Without events, a comment is sent this often, so that a dead connection is noticed. */
  readonly quietMs: number;
}

export const STREAM_LIMITS: StreamLimits = {
  clients: 50,
  bufferedBytes: 16 * 1_024 * 1_024,
  stalledMs: 20_000,
  gatherMs: 100,
  quietMs: 5_000,
};

interface StreamSource {
  readonly model: Model;
  readonly problems: Problems;
  /** Collections that were not listed yet. */
  readonly missing: () => readonly string[];
  readonly now: () => number;
}

interface Client {
  readonly response: ServerResponse;
  /** The group whose Pods it shows. */
  readonly group: string | undefined;
  /** Since when it has not taken everything; undefined if nothing waits. */
  behindSince: number | undefined;
}

export class EventStream {
  readonly #source: StreamSource;
  readonly #limits: StreamLimits;
  readonly #clients = new Set<Client>();
  readonly #quiet: NodeJS.Timeout;
  #gathering: NodeJS.Timeout | undefined;
  #problems = "";
  #missing = "";
  #dropped = 0;

  constructor(source: StreamSource, limits: StreamLimits) {
    this.#source = source;
    this.#limits = limits;
    this.#quiet = setInterval(() => this.#beat(), limits.quietMs);
  }

  get clients(): number {
    return this.#clients.size;
  }

  /** Clients that were cut off because they did not keep up. */
  get dropped(): number {
    return this.#dropped;
  }

  get isFull(): boolean {
    return this.#clients.size >= this.#limits.clients;
  }

  /** Sends the whole view, and from then on what changes. */
  connect(response: ServerResponse, group: string | undefined): void {
    // What has changed before this moment is part of the whole view, and must not follow it as a change.
    this.#flush();
    const client: Client = { response, group, behindSince: undefined };
    this.#clients.add(client);
    response.once("close", () => this.#clients.delete(client));
    response.on("drain", () => {
      client.behindSince = undefined;
    });
    const { model, problems } = this.#source;
    const now = this.#source.now();
    // The browser connects again after a second if the connection breaks.
    this.#send(client, "retry: 1000\n\n");
    const missing = this.#source.missing();
    this.#send(client, encode("groups", { now, reset: true, changed: model.groups(), removed: [], missing }));
    this.#send(client, encode("problems", { now, problems: problems.at(now) }));
    if (group === undefined) return;
    this.#send(client, encode("detail", { now, detail: model.detail(group) }));
    this.#send(client, encode("pods", { now, reset: true, added: model.pods(group), changed: [], removed: [] }));
  }

  /** Something has changed; clients hear of it soon. */
  notify(): void {
    this.#gathering ??= setTimeout(() => this.#flush(), this.#limits.gatherMs);
  }

  close(): void {
    clearInterval(this.#quiet);
    clearTimeout(this.#gathering);
    for (const { response } of this.#clients) response.end();
  }

  #flush(): void {
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    const { model } = this.#source;
    const now = this.#source.now();
    const changes = model.drain();
    const missing = this.#source.missing();
    const wasMissing = this.#missing;
    this.#missing = missing.join();
    if (changes.groups.length + changes.removedGroups.length > 0 || this.#missing !== wasMissing) {
      const { groups: changed, removedGroups: removed } = changes;
      this.#broadcast(encode("groups", { now, reset: false, changed, removed, missing }));
    }
    for (const [key, { detail, added, changed, removed }] of changes.details) {
      const watching = [...this.#clients].filter(({ group }) => group === key);
      if (watching.length === 0) continue;
      const texts = [
        ...(detail ? [encode("detail", { now, detail: model.detail(key) })] : []),
        ...podEvents(now, { added, changed, removed }),
      ];
      for (const client of watching) for (const text of texts) this.#send(client, text);
    }
    this.#reportProblems(now);
  }

  #reportProblems(now: number): void {
    const problems = this.#source.problems.at(now);
    const text = JSON.stringify(problems);
    if (text === this.#problems) return;
    this.#problems = text;
    this.#broadcast(encode("problems", { now, problems }));
  }

  #beat(): void {
    const now = this.#source.now();
    this.#reportProblems(now);
    for (const client of this.#clients) {
      const { behindSince } = client;
      if (behindSince !== undefined && now - behindSince > this.#limits.stalledMs) this.#drop(client);
      else this.#send(client, ":\n\n");
    }
  }

  #broadcast(text: string): void {
    for (const client of this.#clients) this.#send(client, text);
  }

  #send(client: Client, text: string): void {
    const { response } = client;
    if (response.destroyed) return;
    if (!response.write(text)) client.behindSince ??= this.#source.now();
    if (response.writableLength > this.#limits.bufferedBytes) this.#drop(client);
  }

  #drop(client: Client): void {
    this.#dropped += 1;
    this.#clients.delete(client);
    client.response.destroy();
  }
}

/** Changes in one event: a page takes a few milliseconds for them, and can draw a frame before the next event. */
const CHANGES_PER_EVENT = 2_000;

function podEvents(now: number, { added, changed, removed }: Pick<Events["pods"], "added" | "changed" | "removed">) {
  const events: string[] = [];
  if (added.length + removed.length > 0)
    events.push(encode("pods", { now, reset: false, added, changed: [], removed }));
  for (let from = 0; from < changed.length; from += CHANGES_PER_EVENT) {
    const some = changed.slice(from, from + CHANGES_PER_EVENT);
    events.push(encode("pods", { now, reset: false, added: [], changed: some, removed: [] }));
  }
  return events;
}

/** JSON has no line breaks, so the data is always one line. */
function encode<E extends EventName>(name: E, data: Events[E]): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
