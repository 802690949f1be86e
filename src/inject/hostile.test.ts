// Hostile input: huge, deeply nested or confusing. The answer is always quick and never a crash.
import { describe, expect, it } from "vitest";
import { at, create, injected, injectionErrors, POD_SPEC, update } from "../../test/builders/injection.ts";
import { container, type JobSetBuilder, jobSet } from "../../test/builders/jobset.ts";
import { within } from "../../test/cpu-time.ts";
import { ANNOTATION } from "../api/names.ts";
import { createPatch } from "../json/patch.ts";
import type { Json, JsonObject } from "../json/types.ts";

/** Far above what any of these takes, and half of the webhook's timeout. */
const soon = <T>(work: () => T): T => within(2.5, work);

/** Built as text: structuredClone and JSON.stringify cannot copy an object this deep. */
function withDeepValues(builder: JobSetBuilder, open: string, close: string): JsonObject {
  const deep = `${open.repeat(50_000)}1${close.repeat(50_000)}`;
  return JSON.parse(JSON.stringify(builder.build()).replaceAll('"DEEP"', deep));
}

describe("hostile input", { timeout: 30_000 }, () => {
  it("with ten thousand replicatedJobs is injected and updated", () => {
    const builder = jobSet();
    for (let index = 0; index < 10_000; index++)
      builder.replicatedJob(`rj-${index}`, { pods: 1, job: { backoffLimitPerIndex: 0 } });
    const object = builder.build();
    const outcome = soon(() => create(object));
    expect(outcome.warnings).toHaveLength(1);
    const live = injected(outcome);
    expect(soon(() => createPatch(object, live)).length).toBeGreaterThan(10_000);
    expect(soon(() => createPatch(live, injected(update(object, live))))).toEqual([]);
  });

  it("with ten thousand unknown names is rejected with a few findings", () => {
    const builder = jobSet().annotation(
      ANNOTATION.replicatedJobs,
      Array.from({ length: 10_000 }, (_, index) => `nobody-${index}`).join(","),
    );
    for (let index = 0; index < 10_000; index++) builder.replicatedJob(`worker-of-a-long-name-${index}`, { pods: 1 });
    const object = builder.build();
    expect(soon(() => injectionErrors(create(object))).length).toBeLessThan(20);
  });

  it("of three megabytes is injected", () => {
    const env = Array.from({ length: 40_000 }, (_, index) => ({ name: `V${index}`, value: "x".repeat(50) }));
    const object = jobSet()
      .replicatedJob("workers", { containers: [container("train", { env })] })
      .build();
    const outcome = soon(() => create(object));
    expect(soon(() => createPatch(object, injected(outcome))).length).toBeLessThan(20);
  });

  it("with twenty thousand containers and rules in one Pod is handled", () => {
    const containers = Array.from({ length: 20_000 }, (_, index) => container(`c${index}`));
    const rules = Array.from({ length: 20_000 }, () => ({ action: "Count" }));
    const object = jobSet()
      .annotation(ANNOTATION.failExitCodes, "42")
      .annotation(ANNOTATION.status, '{"inputs":{"reprise.dev/fail-exit-codes":"41"}}')
      .replicatedJob("workers", { containers, job: { podFailurePolicy: { rules } } })
      .build();
    expect(soon(() => create(object)).warnings[0]?.rule).toBe("rule-limit");
  });

  it.each([
    ["lists", "[", "]"],
    ["maps", '{"metadata":', "}"],
  ])("nested in fifty thousand %s does not exhaust the stack", (_kind, open, close) => {
    const pod = { resources: "DEEP", securityContext: "DEEP", tolerations: "DEEP" };
    const builder = jobSet()
      .spec({ fieldOfTheFuture: "DEEP", network: "DEEP" })
      .replicatedJob("workers", { pods: 1, job: { backoffLimitPerIndex: "DEEP", podReplacementPolicy: "DEEP" }, pod });
    const object = withDeepValues(builder, open, close);
    const outcome = create(object);
    const live = injected(outcome);
    expect(outcome.warnings).toHaveLength(2);
    expect(injected(create(live))).toBe(live);
    expect(update(withDeepValues(builder, open, close), live).kind).toBe("injected");
    expect(createPatch(object, live).length).toBeGreaterThan(0);
    const toggle = jobSet().annotation(ANNOTATION.inject, "DEEP").replicatedJob("workers");
    expect(create(withDeepValues(toggle, open, close)).kind).toBe("refused");
  });

  it("with keys of JavaScript's own objects neither pollutes nor loses anything", () => {
    const text = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"hasOwnProperty":1}';
    const evil = JSON.parse(text) as JsonObject;
    const object = jobSet()
      .spec(JSON.parse(text))
      .replicatedJob("workers", { pods: 1, containers: [container("train")] });
    const built = object.build();
    for (const path of [["metadata"], ["spec"], [...POD_SPEC], [...POD_SPEC, "containers", 0]]) {
      const target = at(built, ...path);
      if (typeof target === "object" && target !== null)
        Object.defineProperties(target, Object.getOwnPropertyDescriptors(evil));
    }
    const result = injected(create(built));
    expect(Reflect.get({}, "polluted")).toBeUndefined();
    for (const path of [["metadata"], [...POD_SPEC], [...POD_SPEC, "containers", 0]]) {
      const kept = at(result, ...path);
      expect(Object.keys(Object(kept))).toEqual(expect.arrayContaining(["__proto__", "constructor", "hasOwnProperty"]));
    }
    expect(injected(create(result))).toBe(result);
  });

  it.each<[string, Json]>([
    ["metadata", null],
    ["metadata", "x"],
    ["spec", null],
    ["spec", []],
  ])("with %s: %j is handled", (key, value) => {
    const object: JsonObject = { ...jobSet().replicatedJob("workers").build(), [key]: value };
    expect(["injected", "skipped"]).toContain(create(object).kind);
    expect(["injected", "skipped"]).toContain(
      update(object, injected(create(jobSet().replicatedJob("a").build()))).kind,
    );
  });

  it("with null where lists belong is injected as if they were empty", () => {
    const pod = {
      initContainers: null,
      volumes: null,
      tolerations: null,
      imagePullSecrets: null,
      securityContext: null,
    };
    const worker = container("train", { env: null, restartPolicyRules: null, resources: null });
    const object = jobSet()
      .annotation(ANNOTATION.nodeLossGrace, "30s")
      .spec({ failurePolicy: null })
      .replicatedJob("workers", {
        pods: 1,
        pod,
        containers: [worker],
        podMetadata: { labels: null, annotations: null },
      })
      .build();
    const result = injected(create(object));
    expect(at(result, ...POD_SPEC, "initContainers")).toHaveLength(1);
    expect(at(result, ...POD_SPEC, "tolerations")).toHaveLength(2);
    expect(at(result, ...POD_SPEC, "containers", 0, "restartPolicyRules")).toHaveLength(1);
  });

  it.each(["\u0000", "\u202e40", "40\n50", "40;rm", "$(40)", "٤٠", "4".repeat(200_000)])(
    "in an annotation is refused in a short message",
    (text) => {
      const errors = injectionErrors(
        create(jobSet().annotation(ANNOTATION.failExitCodes, text).replicatedJob("a").build()),
      );
      expect(errors[0]?.message.length).toBeLessThan(300);
    },
  );
});
