// The replicatedJobs of an injected JobSet that stay plain because they cannot restart in place. Pure. The webhook
// writes them into the record, and the controller reports them.
import { asList, asMap, asText } from "../json/fields.ts";
import { ANNOTATION } from "./names.ts";

/** Why a replicatedJob is left out. The keys are the names of rules in docs/validation.md. */
const LEFT_OUT_TEXTS = {
  malformed: "the Pod template cannot be read",
  "agent-name": "uses a name that is reserved for the agent",
  "linux-only": "runs on Windows, and the agent runs on Linux only",
  completions: "completions differ from parallelism, and all Pods of a group run at the same time",
  "success-policy": "the successPolicy of the Job deletes running Pods, which looks like a failure",
  "rule-limit": "its own rules leave no room for the injected ones",
} as const;

export type LeftOutReason = keyof typeof LEFT_OUT_TEXTS;

export interface LeftOut {
  /** The name of the replicatedJob. */
  readonly name: string;
  readonly reason: LeftOutReason;
}

/** More names do not help anyone, and an annotation has a limited size. */
export const MAX_LEFT_OUT = 20;

/** The entries in the record of an injected JobSet. A user may edit it: entries that are not valid are dropped. */
export function readLeftOut(annotations: Readonly<Record<string, string>>): readonly LeftOut[] {
  return asList(asMap(parsed(annotations[ANNOTATION.status]))["leftOut"])
    .slice(0, MAX_LEFT_OUT)
    .flatMap((item) => {
      const { name, reason } = asMap(item);
      const text = asText(name);
      return text !== undefined && isReason(reason) ? [{ name: text, reason }] : [];
    });
}

/** For people, after the name of the replicatedJob. */
export function leftOutText(reason: LeftOutReason): string {
  return LEFT_OUT_TEXTS[reason];
}

function isReason(value: unknown): value is LeftOutReason {
  return typeof value === "string" && Object.hasOwn(LEFT_OUT_TEXTS, value);
}

function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
