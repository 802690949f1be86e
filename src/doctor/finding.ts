// What a check of `reprise doctor` is, and what it finds. Pure.
import type { Facts, Reading } from "./facts.ts";

/** `fail`: JobSets are not injected or do not recover. `warn`: something works worse than it should, or is unknown. */
export type Grade = "ok" | "warn" | "fail";

/** What a check found about one thing. */
export interface Verdict {
  readonly grade: Grade;
  readonly message: string;
  /** The remedy, as a command where there is one. */
  readonly fix?: string;
}

export interface Finding extends Verdict {
  readonly check: string;
  /** The page and section about the check. */
  readonly docs: string;
}

export interface Check {
  /** Stable: programs and the section of docs/doctor.md use it. */
  readonly name: string;
  /** One sentence for the docs: what must hold, and why. */
  readonly describe: string;
  /** `cluster`: also before reprise is installed. */
  readonly scope: "cluster" | "installation";
  judge(facts: Facts): readonly Verdict[];
}

export function ok(message: string): Verdict {
  return { grade: "ok", message };
}

export function warn(message: string, fix: string): Verdict {
  return { grade: "warn", message, fix };
}

export function fail(message: string, fix: string): Verdict {
  return { grade: "fail", message, fix };
}

/** The command that installs or repairs everything that manifests/default has. */
export const APPLY = "kubectl apply --server-side -k manifests/default";

/** Judges what was read. What this user may not read is reported as unknown. */
export function judgeRead<T>(
  reading: Reading<T>,
  what: string,
  whenAbsent: () => readonly Verdict[],
  whenRead: (value: T) => readonly Verdict[],
): readonly Verdict[] {
  if (reading.kind === "read") return whenRead(reading.value);
  if (reading.kind === "absent") return whenAbsent();
  return [warn(`unknown: you may not read ${what}: ${reading.reason}`, "run it as an account with that right")];
}

/** For example "a, b, c and 4 more". */
export function listed(names: readonly string[], most = 5): string {
  const more = names.length > most ? ` and ${names.length - most} more` : "";
  return `${names.slice(0, most).join(", ")}${more}`;
}
