import { describe, expect, it } from "vitest";
import { at, create, injected } from "../../../test/builders/injection.ts";
import { jobSet } from "../../../test/builders/jobset.ts";
import { backoffLimitOf } from "../../api/backoff-limits.ts";
import { readJobSet } from "../../api/jobset.ts";
import { ANNOTATION } from "../../api/names.ts";
import type { JsonObject } from "../../json/types.ts";

const RULES = { failurePolicy: { maxRestarts: 1, rules: [{ name: "leader", action: "FailJobSet" }] } };

function limitsOf(object: JsonObject): unknown {
  const record = at(object, "metadata", "annotations", ANNOTATION.status);
  return JSON.parse(String(record))["backoffLimits"];
}

describe("the record of the injection", () => {
  it("keeps the backoffLimit of every participating Job, which injection overwrites", () => {
    const object = jobSet()
      .spec(RULES)
      .annotation(ANNOTATION.replicatedJobs, "leader,workers,indexed")
      .replicatedJob("leader", { job: { backoffLimit: 0 } })
      .replicatedJob("workers")
      .replicatedJob("indexed", { job: { backoffLimitPerIndex: 1 } })
      .replicatedJob("plain", { job: { backoffLimit: 3 } });
    const after = injected(create(object.build()));
    expect(limitsOf(after)).toEqual({ leader: 0, workers: 6, indexed: 2_147_483_647 });
    expect(backoffLimitOf(readJobSet(after).annotations, "leader")).toBe(0);
    expect(limitsOf(injected(create(after)))).toEqual(limitsOf(after));
  });

  it("takes Kubernetes' default for a copy of an injected JobSet without its record", () => {
    const object = jobSet()
      .spec(RULES)
      .replicatedJob("leader", { job: { backoffLimit: 0 } });
    const copy = structuredClone(injected(create(object.build())));
    delete Object(at(copy, "metadata", "annotations"))[ANNOTATION.status];
    expect(limitsOf(injected(create(copy)))).toEqual({ leader: 6 });
  });

  it("keeps none for a JobSet without rules of its own", () => {
    const object = jobSet()
      .annotation(ANNOTATION.failExitCodes, "42")
      .replicatedJob("a", { job: { backoffLimit: 0 } });
    expect(limitsOf(injected(create(object.build())))).toBeUndefined();
  });

  it("keeps the most common one of many Jobs once, because it is an annotation, and the others by name", () => {
    const object = jobSet().spec(RULES);
    for (let index = 0; index < 30; index += 1) object.replicatedJob(`job-${index}`, { job: { backoffLimit: 0 } });
    const after = injected(create(object.replicatedJob("leader", { job: { backoffLimit: 2 } }).build()));
    expect(limitsOf(after)).toEqual({ "*": 0, leader: 2 });
    const { annotations } = readJobSet(after);
    expect(["job-0", "job-29", "leader"].map((name) => backoffLimitOf(annotations, name))).toEqual([0, 0, 2]);
    expect(limitsOf(injected(create(after)))).toEqual(limitsOf(after));
  });

  it("has at most 20 limits, even if all Jobs differ", () => {
    const object = jobSet().spec(RULES);
    for (let index = 0; index < 30; index += 1) object.replicatedJob(`job-${index}`, { job: { backoffLimit: index } });
    expect(Object.keys(Object(limitsOf(injected(create(object.build())))))).toHaveLength(20);
  });
});
