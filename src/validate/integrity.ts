// For rules that check whether the additions of injection are intact after all other webhooks have run. Webhooks that
// run later may add to an agent (variables, mounts, a mirrored image, tighter security). A rule reports only changes
// that stop the group from restarting, or that let a Pod run outside the group. Pure.

import { podPath } from "../inject/parts/template.ts";
import type { JsonObject } from "../json/types.ts";
import { type Check, judged, notApplicable, type Problem } from "./rule.ts";
import type { Member, Subject } from "./subject.ts";

const NOT_INJECTED = "the JobSet is not injected";

/** Which webhook made the change is not visible here. */
export const CHANGED_AFTER_INJECTION =
  "it was changed after injection; exclude JobSets from the webhook that changes it, or inject the plain JobSet again";

/** Checks every participating replicatedJob of an injected JobSet. */
export function inParticipants(
  subject: Subject,
  reason: string,
  problemsOf: (participant: Member) => readonly Problem[],
): Check {
  return inJobSet(subject, reason, () => [], problemsOf);
}

/** Checks the JobSet itself as well. */
export function inJobSet(
  subject: Subject,
  reason: string,
  ofJobSet: (subject: Subject) => readonly Problem[],
  problemsOf: (participant: Member) => readonly Problem[],
): Check {
  if (!subject.isInjected) return notApplicable(NOT_INJECTED);
  return judged([...ofJobSet(subject), ...subject.participants.flatMap(problemsOf)], reason);
}

/** Checks every agent. The rule `agent-first` reports a missing one. */
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
