// What becomes of the fields of a Job that limit how long or how often it is retried.
import { expect, it } from "vitest";
import { create, injected, templateOf } from "../../test/builders/injection.ts";
import { jobSet } from "../../test/builders/jobset.ts";
import { MAX_INT32 } from "../api/names.ts";
import type { JsonObject } from "../json/types.ts";

function jobWith(job: JsonObject, pod: JsonObject = {}) {
  return templateOf(injected(create(jobSet().replicatedJob("workers", { pods: 2, job, pod }).build())));
}

it("no index of a Job fails for good, so maxFailedIndexes keeps its value and is never reached", () => {
  const { job } = jobWith({ backoffLimitPerIndex: 1, maxFailedIndexes: 1 });
  expect(job).toMatchObject({ backoffLimitPerIndex: MAX_INT32, maxFailedIndexes: 1 });
});

it("activeDeadlineSeconds of a Job keeps its value", () => {
  expect(jobWith({ activeDeadlineSeconds: 3_600 }).job).toMatchObject({ activeDeadlineSeconds: 3_600 });
});

it.each(["OnFailure", "Never"])("workers of a Pod with restartPolicy %s restart with their group", (restartPolicy) => {
  const { podSpec, containers } = jobWith({}, { restartPolicy });
  expect(podSpec).toMatchObject({ restartPolicy: "Never" });
  expect(containers).toMatchObject([
    { restartPolicy: "Never", restartPolicyRules: [{ action: "RestartAllContainers" }] },
  ]);
});
