// The steps of a restart, as recorded by the controller, with a name each.
import type { RestartSteps } from "../../src/api/in-place-restart.ts";

const STEPS: readonly (readonly [name: string, from: keyof RestartSteps, to: keyof RestartSteps])[] = [
  ["failure seen → epoch deprecated", "failureSeen", "deprecated"],
  ["→ every agent back at the barrier", "deprecated", "allRestarted"],
  ["→ barrier lifted", "allRestarted", "synced"],
  ["→ every worker seen running", "synced", "allRunning"],
];

/** NaN for a step that was not observed. */
export function stepsOf(record: RestartSteps): readonly { readonly name: string; readonly seconds: number }[] {
  const at = (step: keyof RestartSteps) => Date.parse(record[step] ?? "");
  return STEPS.map(([name, from, to]) => ({ name, seconds: (at(to) - at(from)) / 1_000 }));
}
