// Reads the stream of a dashboard as a browser would. For tests only.
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import type { EventName, Events } from "../view/wire.ts";

export type ReceivedEvent = { readonly [E in EventName]: { readonly name: E; readonly data: Events[E] } }[EventName];

/** The events of `url`, until the server or the reader ends the connection. */
export async function* eventsOf(url: string, signal: AbortSignal): AsyncGenerator<ReceivedEvent> {
  const response = await fetch(url, { signal });
  if (!response.ok || response.body === null) throw new Error(`${response.status}: ${await response.text()}`);
  let name = "";
  for await (const line of createInterface(Readable.fromWeb(response.body as never))) {
    if (line.startsWith("event: ")) name = line.slice("event: ".length);
    if (line.startsWith("data: ")) yield { name, data: JSON.parse(line.slice("data: ".length)) } as ReceivedEvent;
  }
}

/** Reads until an event is accepted. */
export async function nextEvent<E extends EventName>(
  events: AsyncGenerator<ReceivedEvent>,
  name: E,
  isWanted: (data: Events[E]) => boolean = () => true,
): Promise<Events[E]> {
  for (;;) {
    const { value, done } = await events.next();
    if (done === true) throw new Error(`the stream ended before ${name}`);
    if (value.name === name && isWanted(value.data as Events[E])) return value.data as Events[E];
  }
}
