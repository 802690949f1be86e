// For the rules that ask whether what injection put into a JobSet is still there after every other webhook has run.
// Mutating webhooks that run later may add to an agent (variables, mounts, a mirrored image, tighter security): that is
// their right. Broken is only what would stop the group from restarting, or let a Pod run outside of it.

import { podPath } from "../inject/parts/template.ts";
import type { Json, JsonObject } from "../json/types.ts";
import { type Check, judged, notApplicable, type Problem } from "./rule.ts";
import type { Member, Subject } from "./subject.ts";

const NOT_INJECTED = "the JobSet is not injected";

/** Who did it cannot be seen from here. */
export const FIND_THE_WEBHOOK =
  "it was changed after injection; keep the webhook that did so away from JobSets, or inject the plain JobSet again";

/** Looks at every participating replicatedJob of an injected JobSet. */
export function inParticipants(
  subject: Subject,
  reason: string,
  problemsOf: (participant: Member) => readonly Problem[],
): Check {
  return inJobSet(subject, reason, () => [], problemsOf);
}

/** Looks at the JobSet itself as well. */
export function inJobSet(
  subject: Subject,
  reason: string,
  ofJobSet: (subject: Subject) => readonly Problem[],
  problemsOf: (participant: Member) => readonly Problem[],
): Check {
  if (!subject.isInjected) return notApplicable(NOT_INJECTED);
  return judged([...ofJobSet(subject), ...subject.participants.flatMap(problemsOf)], reason);
}

/** Looks at every agent; where one is missing altogether, `agent-first` says so. */
export function inAgents(
  subject: Subject,
  reason: string,
  problemsOf: (agent: JsonObject, path: string, participant: Member) => readonly Problem[],
): Check {
  return inParticipants(subject, reason, (participant) =>
    participant.agent === undefined ? [] : problemsOf(participant.agent, agentPath(participant), participant),
  );
}

function agentPath({ agent, index, template }: Member): string {
  const list = template.podSpec["initContainers"];
  const position = Array.isArray(list) && agent !== undefined ? list.indexOf(agent) : 0;
  return `${podPath(index)}.initContainers[${position}]`;
}

/** A value in a message, never more of it than fits into a line. */
export function brief(value: Json | undefined): string {
  if (value === undefined || value === null) return "not set";
  if (typeof value === "object") return Array.isArray(value) ? "a list" : "a map";
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
