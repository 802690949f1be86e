// Whether reprise was removed from the cluster, so that an agent would wait at its barrier indefinitely. Pure. Only the
// API server's own list of resource types tells: without the agent's rights every object looks missing or forbidden. It
// must say so for two minutes without interruption, because an upgrade or a restored backup may delete the type and
// create it again. A Pod that restarts later needs no proof of its own: agents hand it on (saved-removal.ts).
import { asList, asMap } from "../src/json/fields.ts";

/** How long the type must be gone. */
const PATIENCE_SECONDS = 120;

/** The longest time between two answers that belong together: several times the pause between two requests. */
const LONGEST_GAP_SECONDS = 60;

/**
 * `gone`: the API server answered, and does not serve the type. `unknown`: no such answer, for whatever reason.
 */
export type TypeState = "served" | "gone" | "unknown";

/** Since when the type is known to be gone, in seconds of the node's clock. */
export interface Removal {
  readonly since: number;
  /** The last answer that said so. */
  readonly confirmed: number;
}

/** Once proven, only the type itself disproves it: the Pod's next agents must not wait again. */
export function afterAnswer(removal: Removal | undefined, answer: TypeState, now: number): Removal | undefined {
  if (answer === "served") return undefined;
  if (isProven(removal)) return removal;
  if (answer === "unknown") return undefined;
  const gap = now - (removal?.confirmed ?? Number.NEGATIVE_INFINITY);
  // A negative gap means that the clock was set back.
  const isContinued = gap >= 0 && gap <= LONGEST_GAP_SECONDS;
  return { since: isContinued ? (removal?.since ?? now) : now, confirmed: now };
}

/** Whether the workers may start without their group. Also an agent that inherits the proof needs an answer itself. */
export function mayStartAlone(removal: Removal | undefined, answer: TypeState): boolean {
  return answer === "gone" && isProven(removal);
}

function isProven(removal: Removal | undefined): boolean {
  return removal !== undefined && removal.confirmed - removal.since >= PATIENCE_SECONDS;
}

/** `list` is the APIResourceList of the group and version. */
export function typeStateIn(list: unknown, plural: string): TypeState {
  const { kind, resources } = asMap(list);
  if (kind !== "APIResourceList") return "unknown";
  return asList(resources).some((resource) => asMap(resource)["name"] === plural) ? "served" : "gone";
}
