import { expect, it } from "vitest";
import { changed, create, injected } from "../../../test/builders/injection.ts";
import { type JobSetBuilder, jobSet } from "../../../test/builders/jobset.ts";
import { ANNOTATION } from "../../api/names.ts";
import type { JsonObject } from "../../json/types.ts";
import { effectOf } from "./effect.ts";

/** The effect on a JobSet with this record. */
function effect(builder: JobSetBuilder, record: JsonObject = {}): string {
  const object = injected(create(builder.build()));
  return effectOf(changed(object, ["metadata", "annotations", ANNOTATION.status], JSON.stringify(record)), []);
}

it("the effect of injection begins with the number of Pods that restart together", () => {
  expect(effect(jobSet().replicatedJob("workers", { replicas: 2, pods: 4 }).replicatedJob("driver"))).toBe(
    "group of 9 Pods",
  );
  expect(effect(jobSet().replicatedJob("workers"))).toBe("group of 1 Pod");
});

it("the effect of injection says how often the group may restart, and why", () => {
  const workers = jobSet().replicatedJob("workers", { pods: 8 });
  expect(effect(workers, { budget: { max: 6, from: "backoffLimit" } })).toBe(
    "group of 8 Pods, 6 restarts (from backoffLimit)",
  );
  expect(effect(workers, { budget: "edited" })).toBe("group of 8 Pods");
});

it("the effect of injection leaves the number of restarts to JobSet's own protocol", () => {
  const workers = jobSet()
    .spec({ failurePolicy: { maxRestarts: 3, restartStrategy: "InPlaceRestart" } })
    .replicatedJob("workers", { pods: 8 });
  expect(effect(workers)).toBe("group of 8 Pods, restarts counted by JobSet");
});

it("the effect of injection names the exit codes that do not restart in place", () => {
  const workers = jobSet()
    .annotation(ANNOTATION.failExitCodes, "42,50-52")
    .annotation(ANNOTATION.recreateExitCodes, "64")
    .replicatedJob("workers");
  expect(effect(workers)).toBe("group of 1 Pod, exit 42,50-52 fails the JobSet, exit 64 gets a new Pod");
});

it.each<[string, JsonObject, string]>([
  ["no failurePolicy", {}, "fails the JobSet"],
  ["no recreation", { failurePolicy: { maxRestarts: 0 } }, "fails the JobSet"],
  [
    "a rule that fails the JobSet",
    { failurePolicy: { maxRestarts: 2, rules: [{ action: "FailJobSet", onJobFailureReasons: ["PodFailurePolicy"] }] } },
    "fails the JobSet",
  ],
  ["recreations", { failurePolicy: { maxRestarts: 2 } }, "recreates the Jobs"],
])("the effect of injection says what FailJob of a podFailurePolicy leads to, with %s", (_what, spec, text) => {
  const rules = [{ action: "FailJob", onExitCodes: { operator: "In", values: [42] } }];
  const workers = jobSet()
    .spec(spec)
    .replicatedJob("workers", { job: { podFailurePolicy: { rules } }, pod: { restartPolicy: "Never" } });
  expect(effect(workers)).toBe(`group of 1 Pod, exit 42 ${text}`);
});

it("the effect of injection names what is left out, with the reason", () => {
  const parts = jobSet()
    .annotation(ANNOTATION.replicatedJobs, "workers")
    .replicatedJob("workers")
    .replicatedJob("driver")
    .replicatedJob("queue");
  expect(effect(parts, { leftOut: [{ name: "queue", reason: "completions" }] })).toBe(
    "group of 1 Pod, without driver (reprise.dev/replicated-jobs) and queue (completions)",
  );
});

it("the effect of injection points to the page about a partner, once", () => {
  const object = injected(create(jobSet().replicatedJob("workers").build()));
  const message = "its sidecar is restarted too; see docs/compatibility.md#gcs-fuse";
  const warnings = [0, 1].map((index) => ({ rule: "gcs-fuse", path: `spec.replicatedJobs[${index}]`, message }));
  const [, ...partners] = effectOf(object, warnings).split(", gcs-fuse: ");
  expect(partners).toEqual(["see docs/compatibility.md#gcs-fuse"]);
});
