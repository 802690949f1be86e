import { describe, expect, it } from "vitest";
import { at, create, injected, settings, update, warningTexts } from "../../test/builders/injection.ts";
import { container, type JobSetBuilder, jobSet } from "../../test/builders/jobset.ts";
import { stored, withCrdDefaults } from "../../test/builders/stored.ts";
import type { InjectionOutcome } from "../api/admission.ts";
import { ANNOTATION, MAX_INT32 } from "../api/names.ts";
import type { NamespaceLimit } from "../api/namespace.ts";
import { createPatch } from "../json/patch.ts";
import type { JsonObject } from "../json/types.ts";
import { resolveBudget } from "./budget.ts";
import { inject } from "./inject.ts";

function limited(backoffLimit?: number, maxRestarts?: number): JobSetBuilder {
  const builder = maxRestarts === undefined ? jobSet() : jobSet().spec({ failurePolicy: { maxRestarts } });
  return builder.replicatedJob("workers", { pods: 2, job: backoffLimit === undefined ? {} : { backoffLimit } });
}

function recordOf(object: JsonObject): JsonObject {
  return JSON.parse(String(at(object, "metadata", "annotations", ANNOTATION.status)));
}

function budgetOf(object: JsonObject): unknown {
  return recordOf(object)["budget"];
}

/** Creates the JobSet in a Namespace of which this is known. */
function createIn(limit: NamespaceLimit, object: JsonObject, config = settings): InjectionOutcome {
  return inject({ operation: "CREATE", namespace: "team", object, config, namespaces: () => limit });
}

function annotated(text: string | undefined): NamespaceLimit {
  return { kind: "known", text };
}

const UNAVAILABLE: NamespaceLimit = { kind: "unavailable", reason: "403 Forbidden" };

it("the budget comes from the JobSet's annotation, its Namespace, the config and its own fields, in this order", () => {
  const derived = { max: 6, from: "backoffLimit" } as const;
  const none = { annotation: undefined, namespace: undefined, config: undefined, derived };
  expect(resolveBudget(none)).toEqual(derived);
  expect(resolveBudget({ ...none, config: 0 })).toEqual({ max: 0, from: "config" });
  expect(resolveBudget({ ...none, config: 1, namespace: 0 })).toEqual({ max: 0, from: "namespace" });
  expect(resolveBudget({ ...none, config: 1, namespace: 2, annotation: 0 })).toEqual({ max: 0, from: "annotation" });
});

describe("the budget of a new JobSet", () => {
  it.each([
    ["nothing is set", undefined, undefined, { max: 6, from: "backoffLimit" }],
    ["only backoffLimit 0 is set", 0, undefined, { max: 3, from: "default" }],
    ["only maxRestarts counts", 0, 5, { max: 5, from: "maxRestarts" }],
    ["both count", 2, 1, { max: 5, from: "backoffLimit-and-maxRestarts" }],
    ["both are 0", 0, 0, { max: 0, from: "backoffLimit-and-maxRestarts" }],
    ["there is no limit", 32_000_000, 1_000, { max: MAX_INT32, from: "backoffLimit-and-maxRestarts" }],
  ])("is what the plain JobSet survives at least: %s", (_what, backoffLimit, maxRestarts, budget) => {
    expect(budgetOf(injected(create(limited(backoffLimit, maxRestarts).build())))).toEqual(budget);
  });

  it("is not derived from a replicatedJob without replicas, which has no Job", () => {
    const object = limited(4).replicatedJob("idle", { replicas: 0, job: { backoffLimit: 0 } });
    expect(budgetOf(injected(create(object.build())))).toEqual({ max: 4, from: "backoffLimit" });
  });

  it("is derived from the participating replicatedJobs only", () => {
    const object = limited(4)
      .replicatedJob("driver", { job: { backoffLimit: 3 }, containers: [container("driver")] })
      .annotation(ANNOTATION.replicatedJobs, "workers");
    expect(budgetOf(injected(create(object.build())))).toEqual({ max: 4, from: "backoffLimit" });
  });

  it.each([
    ["if it is above Kubernetes' default for the Job", { backoffLimitPerIndex: 9 }, 9],
    ["but is never below that default", { backoffLimitPerIndex: 4 }, 6],
    ["only where the Job sets no limit of its own", { backoffLimit: 5, backoffLimitPerIndex: 9 }, 5],
  ])("is derived from the limit of each index %s", (_what, job, max) => {
    const object = jobSet().replicatedJob("workers", { pods: 2, job }).build();
    expect(budgetOf(injected(create(object)))).toEqual({ max, from: "backoffLimit" });
  });

  it("is that of its annotation, its Namespace or the config, in this order", () => {
    const config = { ...settings, defaultMaxRestarts: 7 };
    const ofBudget = (limit: NamespaceLimit, object = limited().build()) =>
      budgetOf(injected(createIn(limit, object, config)));
    expect(ofBudget(annotated(undefined))).toEqual({ max: 7, from: "config" });
    expect(ofBudget(annotated("8"))).toEqual({ max: 8, from: "namespace" });
    const own = limited().annotation(ANNOTATION.maxRestarts, "9").build();
    expect(ofBudget(annotated("8"), own)).toEqual({ max: 9, from: "annotation" });
  });

  it("is not recorded with JobSet's own protocol, whose controller counts", () => {
    const object = jobSet()
      .spec({ failurePolicy: { maxRestarts: 3, restartStrategy: "InPlaceRestart" } })
      .replicatedJob("workers");
    expect(recordOf(injected(create(object.build())))).not.toHaveProperty("budget");
  });
});

describe("a Namespace whose annotation", () => {
  it("is not a whole number is ignored with a warning that names it", () => {
    const outcome = createIn(annotated("ten"), limited().build());
    expect(budgetOf(injected(outcome))).toEqual({ max: 6, from: "backoffLimit" });
    expect(warningTexts(outcome)).toEqual([
      '"ten" in reprise.dev/max-restarts of Namespace team is not a whole number from 0 to 2147483647 and is ' +
        "ignored, so the budget is 6 restarts (from backoffLimit); correct it on the Namespace",
    ]);
  });

  it("cannot be read is left out with a warning that says why", () => {
    const outcome = createIn(UNAVAILABLE, limited().build());
    expect(budgetOf(injected(outcome))).toEqual({ max: 6, from: "backoffLimit" });
    expect(warningTexts(outcome)).toEqual([
      "the budget is 6 restarts (from backoffLimit), because reprise.dev/max-restarts of Namespace team could not be " +
        "read; if the Namespace has it, set it on the JobSet too: 403 Forbidden",
    ]);
  });

  it.each([UNAVAILABLE, annotated("ten")])("does not matter causes no warning: %j", (limit) => {
    const own = limited().annotation(ANNOTATION.maxRestarts, "9").build();
    expect(createIn(limit, own).warnings).toEqual([]);
  });
});

describe("a JobSet that was injected before", () => {
  it.each([
    ["derived from backoffLimit", limited(9)],
    ["that is the default", limited(0).annotation(ANNOTATION.failExitCodes, "42")],
    ["derived from both limits", limited(2, 2)],
  ])("keeps a budget %s when it is created again", (_what, builder) => {
    const once = injected(create(builder.build()));
    expect(injected(create(once))).toBe(once);
  });

  it("keeps the budget of its Namespace if this replica cannot read it", () => {
    const once = injected(createIn(annotated("8"), limited().build()));
    const outcome = createIn(UNAVAILABLE, once);
    expect(budgetOf(injected(outcome))).toEqual({ max: 8, from: "namespace" });
    expect(outcome.warnings).toEqual([]);
  });

  it("gets the budget of the Namespace to which it is copied", () => {
    const once = injected(createIn(annotated("8"), limited().build()));
    expect(budgetOf(injected(createIn(annotated("20"), once)))).toEqual({ max: 20, from: "namespace" });
    expect(budgetOf(injected(createIn(annotated(undefined), once)))).toEqual({ max: 6, from: "backoffLimit" });
  });

  it("has no backoffLimit of its user if its record is lost", () => {
    const copy = structuredClone(injected(create(limited(9).annotation(ANNOTATION.failExitCodes, "42").build())));
    delete Object(at(copy, "metadata", "annotations"))[ANNOTATION.status];
    expect(budgetOf(injected(create(copy)))).toEqual({ max: 6, from: "backoffLimit" });
  });

  it("gets the backoffLimit that its user writes into the copy", () => {
    const copy = structuredClone(injected(create(limited(9).build())));
    Object(at(copy, "spec", "replicatedJobs", 0, "template", "spec"))["backoffLimit"] = 4;
    expect(budgetOf(injected(create(copy)))).toEqual({ max: 4, from: "backoffLimit" });
  });
});

it("an update keeps the record with its budget byte for byte, whatever Namespace and config say now", () => {
  const live = stored(injected(create(limited(9).build())));
  const config = { ...settings, defaultMaxRestarts: 1 };
  const sent = withCrdDefaults(limited(9).build());
  const request = { operation: "UPDATE", namespace: "team", object: sent, oldObject: live, config } as const;
  const outcome = inject({ ...request, namespaces: () => annotated("2") });
  expect(outcome.warnings).toEqual(update(sent, live).warnings);
  expect(at(injected(outcome), "metadata", "annotations")).toEqual(at(live, "metadata", "annotations"));
  expect(createPatch(Object(injected(outcome)["spec"]), Object(live["spec"]))).toEqual([]);
});
