import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { changed, create, injected, POD, POD_SPEC, settings, update } from "../../test/builders/injection.ts";
import { container, jobSet } from "../../test/builders/jobset.ts";
import { RandomJobSet } from "../../test/builders/random-jobset.ts";
import { stored } from "../../test/builders/stored.ts";
import { within } from "../../test/cpu-time.ts";
import type { Verdict } from "../api/admission.ts";
import { ANNOTATION, LABEL } from "../api/names.ts";
import type { Json, JsonObject } from "../json/types.ts";
import { preview } from "./preview.ts";
import { RULES } from "./rules.ts";
import { validate } from "./validate.ts";

/** Hundreds of random objects each, on a machine that may be busy with other tests. */
const SLOW = { timeout: 60_000 };

function onCreate(object: JsonObject): Verdict {
  return validate({ operation: "CREATE", namespace: "default", object, config: settings });
}

function onUpdate(object: JsonObject, oldObject: JsonObject): Verdict {
  return validate({ operation: "UPDATE", namespace: "default", object, oldObject, config: settings });
}

function plain() {
  return jobSet()
    .spec({ failurePolicy: { maxRestarts: 3 } })
    .replicatedJob("workers", { pods: 2 });
}

const live = stored(injected(create(plain().build())));
const AGENT_AT = [...POD_SPEC, "initContainers", 0] as const;

function names(findings: readonly { readonly rule: string }[]): string[] {
  return findings.map(({ rule }) => rule);
}

describe("a new JobSet", () => {
  it("that is injected is allowed, and every rule has a verdict", () => {
    const verdict = onCreate(injected(create(plain().build())));
    expect(verdict).toMatchObject({ allowed: true, errors: [], warnings: [] });
    expect(names(verdict.results)).toEqual(RULES.map(({ name }) => name));
  });

  it("that the mutating webhook missed is allowed with a warning: injection fails open", () => {
    const { allowed, warnings } = onCreate(plain().build());
    expect({ allowed, warnings: names(warnings) }).toEqual({ allowed: true, warnings: ["injected"] });
  });

  it("that the mutating webhook missed is still rejected for an error", () => {
    const { allowed, errors, warnings } = onCreate(plain().annotation(ANNOTATION.failExitCodes, "0").build());
    expect({ allowed, errors: names(errors), warnings }).toEqual({
      allowed: false,
      errors: ["exit-codes"],
      warnings: [],
    });
  });

  it("gets all of its errors at once", () => {
    const object = plain().annotation(ANNOTATION.failExitCodes, "x").annotation(ANNOTATION.maxRestarts, "-1").build();
    expect(names(onCreate(object).errors)).toEqual(["exit-codes", "max-restarts"]);
  });

  it("that opted out is checked only for annotations without effect", () => {
    const object = plain().annotation(ANNOTATION.inject, "false").annotation("reprise.dev/max-restart", "x").build();
    const { allowed, warnings, results } = onCreate(object);
    expect({ allowed, warnings: names(warnings) }).toEqual({ allowed: true, warnings: ["unknown-annotations"] });
    expect(results.filter(({ verdict }) => verdict === "not-applicable").length).toBe(RULES.length - 2);
  });

  it("that is a copy with other annotations and bypassed the mutating webhook is rejected", () => {
    const copy = changed(
      injected(create(plain().build())),
      ["metadata", "annotations", ANNOTATION.failExitCodes],
      "42",
    );
    expect(names(onCreate(copy).errors)).toEqual(expect.arrayContaining(["worker-rules", "fail-codes-compiled"]));
  });
});

describe("an update", () => {
  it("with the unchanged file is allowed without warnings", () => {
    const applied = injected(update(plain().build(), live));
    expect(onUpdate(applied, live)).toMatchObject({ allowed: true, errors: [], warnings: [] });
  });

  it("is rejected for a new error", () => {
    const { allowed, errors } = onUpdate(changed(live, [...POD, "metadata", "labels"], {}), live);
    expect({ allowed, errors: names(errors) }).toEqual({ allowed: false, errors: ["injection-metadata"] });
  });

  it("is not rejected for an error of the stored object, which becomes a warning", () => {
    const old = changed(live, [...AGENT_AT, "restartPolicyRules"], []);
    const { allowed, errors, warnings } = onUpdate(changed(old, ["metadata", "labels", "team"], "a"), old);
    expect({ allowed, errors, warnings: names(warnings) }).toEqual({
      allowed: true,
      errors: [],
      warnings: ["agent-restart-rule"],
    });
  });

  it("that changes one invalid value into another is rejected", () => {
    const having = (value: string) => changed(live, ["metadata", "annotations", ANNOTATION.maxRestarts], value);
    expect(onUpdate(having("many"), having("many")).allowed).toBe(true);
    expect(onUpdate(having("some"), having("many")).allowed).toBe(false);
  });

  it("does not repeat the warnings of the creation", () => {
    const old = changed(live, ["metadata", "annotations", ANNOTATION.maxRestarts], "0");
    const { warnings, results } = onUpdate(old, old);
    expect(warnings).toEqual([]);
    expect(results.find(({ rule }) => rule === "restart-budget")).toMatchObject({ verdict: "warning" });
  });

  it("of annotations is checked against the inputs of the injection, not against the new values", () => {
    const { allowed, errors } = onUpdate(
      changed(live, ["metadata", "annotations", ANNOTATION.failExitCodes], "42"),
      live,
    );
    expect({ allowed, errors }).toEqual({ allowed: true, errors: [] });
  });

  it("that turns injection off may still not break a running JobSet", () => {
    const off = changed(live, ["metadata", "annotations", ANNOTATION.inject], "false");
    expect(onUpdate(off, live).allowed).toBe(true);
    expect(onUpdate(changed(off, ["metadata", "labels", LABEL.injected], "false"), live).allowed).toBe(false);
  });

  it("of a JobSet that was created without injection is not checked", () => {
    const old = plain().annotation(ANNOTATION.maxRestarts, "many").build();
    expect(onUpdate(old, old)).toMatchObject({ allowed: true, errors: [], warnings: [] });
  });

  it("that removes a finalizer from a JobSet being deleted is never rejected", () => {
    const deleted = changed(live, ["metadata", "deletionTimestamp"], "2030-01-01T00:00:00Z");
    const wreck = changed(deleted, ["spec", "replicatedJobs"], []);
    expect(onUpdate(wreck, deleted)).toMatchObject({ allowed: true, errors: [], warnings: [] });
  });
});

describe("the result of injection", () => {
  /** Rules about values of the user that injection does not change. */
  const USERS = [
    "max-restarts",
    "escalate-after",
    "restart-request",
    "force-delete",
    "keep-shared-memory",
    "value-limit",
    "token-private",
  ];

  test("is never rejected for the additions, for any JobSet", SLOW, () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const random = new RandomJobSet(seed);
        const object = random.build();
        const outcome = create(object);
        if (outcome.kind !== "injected" || !random.storable) return;
        expect(onCreate(outcome.object).errors.filter(({ rule }) => !USERS.includes(rule))).toEqual([]);
      }),
      { numRuns: 1_000 },
    );
  });

  const duration = fc
    .tuple(fc.integer({ min: 1, max: 600 }), fc.constantFrom("s", "m", "h"))
    .map(([n, unit]) => `${n}${unit}`);
  const annotations = fc.record(
    {
      [ANNOTATION.failExitCodes]: fc.constantFrom("1", "40-50", "3, 5-9"),
      [ANNOTATION.recreateExitCodes]: fc.constantFrom("2", "60-70,137"),
      [ANNOTATION.maxRestarts]: fc.nat(100).map(String),
      [ANNOTATION.escalateAfter]: fc.integer({ min: 1, max: 9 }).map(String),
      [ANNOTATION.nodeLossGrace]: duration,
      [ANNOTATION.agentCpu]: fc.constantFrom("50m", "1"),
      [ANNOTATION.agentMemory]: fc.constantFrom("32Mi", "1Gi"),
      [ANNOTATION.replicatedJobs]: fc.constant("workers"),
      [ANNOTATION.workerContainers]: fc.constant("train"),
      [ANNOTATION.keepSharedMemory]: fc.constantFrom("true", "false"),
      [ANNOTATION.safeToForcefullyDelete]: fc.constantFrom("true", "false"),
      [ANNOTATION.inject]: fc.constant("true"),
    },
    { requiredKeys: [] },
  );
  const exitCodes = fc.uniqueArray(fc.integer({ min: 1, max: 255 }), { minLength: 1, maxLength: 5 });
  const restartRule = fc.record({
    action: fc.constantFrom("Restart", "RestartAllContainers"),
    exitCodes: fc.record({ operator: fc.constantFrom("In", "NotIn"), values: exitCodes }),
  });
  const worker = fc.record(
    {
      restartPolicyRules: fc.array(restartRule, { maxLength: 3 }),
      ports: fc.array(fc.record({ containerPort: fc.integer({ min: 1, max: 15_000 }) }), { maxLength: 2 }),
      env: fc.constantFrom<Json[]>([], [{ name: "SEED", value: "mine" }]),
    },
    { requiredKeys: [] },
  );
  const pod = fc.record(
    {
      hostNetwork: fc.boolean(),
      restartPolicy: fc.constantFrom("OnFailure", "Never"),
      securityContext: fc.constantFrom<JsonObject>({}, { runAsUser: 0 }),
    },
    { requiredKeys: [] },
  );
  const job = fc.record(
    {
      backoffLimit: fc.nat(10),
      completionMode: fc.constantFrom("Indexed", "NonIndexed"),
      podReplacementPolicy: fc.constantFrom("Failed", "TerminatingOrFailed"),
    },
    { requiredKeys: [] },
  );
  const wellFormed = fc
    .record({
      annotations,
      worker,
      pod,
      job,
      pods: fc.integer({ min: 1, max: 4 }),
      jobs: fc.integer({ min: 1, max: 3 }),
    })
    .map((parts) => {
      const builder = jobSet();
      for (const [key, value] of Object.entries(parts.annotations)) builder.annotation(key, value);
      const containers = [container("train", parts.worker), container("log")];
      for (const name of ["workers", "driver", "eval"].slice(0, parts.jobs)) {
        builder.replicatedJob(name, { pods: parts.pods, job: parts.job, pod: parts.pod, containers });
      }
      return builder.build();
    });

  test("has no errors if all annotations are valid", SLOW, () => {
    let accepted = 0;
    fc.assert(
      fc.property(wellFormed, (object) => {
        const outcome = create(structuredClone(object));
        if (outcome.kind !== "injected") return;
        accepted++;
        expect(onCreate(outcome.object).errors).toEqual([]);
        const after = stored(outcome.object);
        expect(onUpdate(injected(update(object, after)), after).errors).toEqual([]);
      }),
      { numRuns: 300 },
    );
    expect(accepted).toBeGreaterThan(150);
  });
});

test("never makes validation throw, and is allowed exactly if it has no error", SLOW, () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), fc.dictionary(fc.string(), fc.jsonValue()), (seed, other, junk) => {
      const objects: JsonObject[] = [new RandomJobSet(seed).build(), JSON.parse(JSON.stringify(junk))];
      const old = new RandomJobSet(other).build();
      for (const object of objects) {
        const made = create(object);
        for (const verdict of [
          onCreate(object),
          onUpdate(object, old),
          onUpdate(made.kind === "injected" ? made.object : object, object),
        ]) {
          expect(verdict.allowed).toBe(verdict.errors.length === 0);
        }
      }
    }),
    { numRuns: 500 },
  );
});

test("a preview injects first, and runs the remaining rules on a rejected JobSet", () => {
  const request = { namespace: "default", config: settings };
  expect(preview({ ...request, object: plain().build() })).toMatchObject({ verdict: { allowed: true, warnings: [] } });
  const object = plain().annotation(ANNOTATION.failExitCodes, "0").annotation(ANNOTATION.maxRestarts, "0").build();
  const { verdict } = preview({ ...request, object });
  expect({ errors: names(verdict.errors), warnings: names(verdict.warnings) }).toEqual({
    errors: ["exit-codes"],
    warnings: ["restart-budget"],
  });
});

test("the time of validation grows linearly with the size of a JobSet", SLOW, () => {
  const builder = jobSet().spec({ failurePolicy: { maxRestarts: 1 } });
  for (let index = 0; index < 10_000; index++) builder.replicatedJob(`w${index}`);
  const object = injected(create(builder.build()));
  // It takes about one second; the API server waits for 5 s.
  expect(within(4, () => onCreate(object)).errors).toEqual([]);
});
