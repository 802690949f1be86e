import { describe, expect, it } from "vitest";
import { create } from "../../../test/builders/injection.ts";
import { jobSet } from "../../../test/builders/jobset.ts";
import { ANNOTATION } from "../../api/names.ts";
import { DEFAULT_RESTART_POLICY } from "../../api/restart-policy.ts";
import { explainOutcome, explainPlain, explanationText } from "./explain.ts";

const settings = { policy: DEFAULT_RESTART_POLICY, stuckPods: { enabled: true, threshold: 60_000 } };

function explained(annotations: Readonly<Record<string, string>> = {}, spec = {}): string {
  const builder = jobSet().spec({ failurePolicy: { maxRestarts: 3 }, ...spec });
  for (const [key, value] of Object.entries(annotations)) builder.annotation(key, value);
  const outcome = create(builder.replicatedJob("workers", { pods: 2 }).build());
  return explanationText("JobSet train", explainOutcome(outcome, settings));
}

describe("reprise explain of a JobSet that is injected", () => {
  it("says what the exit codes do", () => {
    const text = explained({ [ANNOTATION.failExitCodes]: "40-50", [ANNOTATION.recreateExitCodes]: "64" });
    expect(text).toContain("  exit 40-50: fails the JobSet\n  exit 64: gets a new Pod\n");
    expect(text).toMatch(/ {2}any other code: all workers restart in place, .* within \d+ restarts \(from /);
  });

  it("says what happens after other Pods have succeeded", () => {
    expect(explained()).toContain("have succeeded: JobSet recreates all Jobs");
    expect(explained({ [ANNOTATION.onPartialSuccess]: "continue" })).toContain("the rest restarts in place");
  });

  it("says what happens if it fails again and again", () => {
    expect(explained()).toContain("failure 3 of the same Pod in a row replaces the Pod");
    expect(explained({ [ANNOTATION.escalateAfter]: "0" })).toContain("the same Pod is never replaced for it");
    expect(explained()).toContain(
      "from restart 4 in a row on, the barrier is held for 10s, doubled each time up to 5m",
    );
  });

  it("says what happens if a node is lost", () => {
    expect(explained()).toContain("its Pods are evicted 300s after the node is unreachable");
    expect(explained()).toContain("they stay until the node is back or deleted");
    const safe = explained({ [ANNOTATION.nodeLossGrace]: "30s", [ANNOTATION.safeToForcefullyDelete]: "true" });
    expect(safe).toContain("its Pods are evicted 30s after the node is unreachable");
    expect(safe).toContain("the controller deletes them by force 1m after their grace period");
  });

  it("leaves the rest to JobSet's own controller if that restarts it", () => {
    const failurePolicy = { maxRestarts: 3, restartStrategy: "InPlaceRestart" };
    const text = explained({}, { failurePolicy });
    expect(text).toContain("JobSet's own controller decides about restarts");
    expect(text).not.toContain("When a node is lost");
  });
});

describe("reprise explain of a JobSet that is not injected", () => {
  it("says why", () => {
    expect(explained({ [ANNOTATION.inject]: "false" })).toContain(
      'not injected: it has the annotation reprise.dev/inject: "false" (disabled-by-annotation)',
    );
  });

  it("lists what is refused", () => {
    expect(explained({ [ANNOTATION.failExitCodes]: "0" })).toMatch(/refused:\n {4}metadata\.annotations\[.*contains 0/);
  });

  const outcome = create(jobSet().replicatedJob("workers", { pods: 2 }).build());

  it("says that its namespace is not labeled", () => {
    expect(explainPlain(outcome, false, settings)).toEqual([
      { title: "Injection", lines: [expect.stringContaining("has no label reprise.dev/injection=enabled")] },
    ]);
  });

  it("says that it was created too early, and what injection would do", () => {
    const [first, ...rest] = explainPlain(outcome, true, settings);
    expect(first?.lines).toEqual([
      expect.stringMatching(/created without injection.*; delete it and apply it again$/),
      expect.stringMatching(/^then: injected by reprise .*: group of 2 Pods/),
    ]);
    expect(rest.length).toBeGreaterThan(2);
  });
});
