// The Events about replicatedJobs that injection left plain. Pure.
import { type LeftOut, leftOutText, readLeftOut } from "../../src/api/left-out.ts";
import type { Notice } from "./notice.ts";

/** Events have a limited length. */
const MAX_NAMED = 3;

/** One Event for each reason, when the group is first seen. */
export function leftOutNotices(annotations: Readonly<Record<string, string>>): readonly Notice[] {
  const byReason = Map.groupBy(readLeftOut(annotations), ({ reason }) => reason);
  return [...byReason].map(([reason, entries]) => {
    const note = `not part of the group, does not restart in place: ${namesOf(entries)}: ${leftOutText(reason)}`;
    return { type: "Warning", reason: "LeftOut", action: "Inject", note };
  });
}

function namesOf(entries: readonly LeftOut[]): string {
  const names = entries.slice(0, MAX_NAMED).map(({ name }) => name);
  const more = entries.length > names.length ? ` and ${entries.length - names.length} more` : "";
  return `replicatedJob${entries.length === 1 ? "" : "s"} ${names.join(", ")}${more}`;
}
