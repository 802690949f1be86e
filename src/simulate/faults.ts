// Everything that can go wrong in a simulation, by name, and how a user writes it: kill-worker@5s.
import { parseDuration } from "../api/duration.ts";
import { Random } from "./random.ts";

/** What each fault does, for help texts. */
export const FAULTS = {
  "kill-worker": "a worker exits with code 1",
  "kill-agent": "an agent is killed",
  "kill-both": "a worker exits and its agent is killed",
  "delete-pod": "a user deletes a Pod",
  "force-delete-pod": "a Pod's object vanishes at once",
  "evict-pod": "a Pod is evicted (a disruption)",
  "delete-job": "a user deletes a Job, and its Pods end after it",
  "lose-node": "a node loses power",
  "finish-worker": "a worker exits with code 0",
  "kill-controller": "the controller is killed, and another starts seconds later",
  "second-leader": "another controller leads while the old one still writes for some seconds",
  "api-outage": "the API server is gone for up to 20 seconds, or for one to three minutes",
  "slow-watches": "watches lag by up to 3 seconds",
  "lose-object": "the InPlaceRestart is deleted by hand",
  suspend: "the JobSet is suspended and resumed seconds later",
  "recreate-jobset": "the JobSet is deleted and created again under the same name",
} as const satisfies Readonly<Record<string, string>>;

export type FaultKind = keyof typeof FAULTS;

export interface Fault {
  readonly kind: FaultKind;
  /** Milliseconds since the beginning. */
  readonly at: number;
}

function isFaultKind(text: string): text is FaultKind {
  return Object.hasOwn(FAULTS, text);
}

/** Reads "kill-worker@5s"; undefined when it is not of that form. */
export function parseFault(text: string): Fault | undefined {
  const [kind, time, ...rest] = text.split("@");
  const at = time === undefined ? undefined : parseDuration(time);
  if (kind === undefined || at === undefined || rest.length > 0 || !isFaultKind(kind)) return undefined;
  return { kind, at };
}

const KINDS = Object.keys(FAULTS).filter(isFaultKind);

/** Faults for one seed: some far apart, some in the middle of the recovery from the one before. */
export function randomFaults(seed: number, most: number): readonly Fault[] {
  const random = new Random(seed ^ 0x5eed);
  const faults: Fault[] = [];
  let at = random.between(100, 15_000);
  for (let count = random.integer(1, most); count > 0; count -= 1) {
    const kind = random.pick(KINDS);
    if (kind !== undefined) faults.push({ kind, at });
    at += random.chance(0.5) ? random.between(0, 4_000) : random.between(4_000, 40_000);
  }
  return faults;
}
