// A failure policy is looked up once, when the JobSet is created. The JobSet keeps the codes of that moment.
import { describe, expect, it } from "vitest";
import {
  at,
  create,
  injected,
  injectionErrors,
  policies,
  settings,
  templateOf,
  update,
  warningTexts,
} from "../../test/builders/injection.ts";
import { jobSet } from "../../test/builders/jobset.ts";
import { stored, withCrdDefaults } from "../../test/builders/stored.ts";
import { ANNOTATION } from "../api/names.ts";
import { createPatch } from "../json/patch.ts";
import type { JsonObject } from "../json/types.ts";
import { createPolicyLookup } from "../policy/lookup.ts";
import { validate } from "../validate/validate.ts";
import { readRecord } from "./stored/record.ts";

const plain = () =>
  jobSet()
    .spec({ failurePolicy: { maxRestarts: 3 } })
    .replicatedJob("workers", { pods: 2 });
const named = plain().annotation(ANNOTATION.failurePolicy, "cuda-default");
const numbered = plain().annotation(ANNOTATION.failExitCodes, "78").annotation(ANNOTATION.recreateExitCodes, "80,214");

const later = createPolicyLookup({ configured: new Map([["cuda-default", { fail: [1], recreate: [2] }]]) });
const gone = createPolicyLookup({ configured: new Map() });

const specOf = (object: JsonObject) => at(object, "spec");

describe("a JobSet that names a failure policy", () => {
  it("is injected as if the codes were in its annotations", () => {
    expect(specOf(injected(create(named.build())))).toEqual(specOf(injected(create(numbered.build()))));
  });

  it("is rejected if the name is unknown", () => {
    expect(injectionErrors(create(named.build(), settings, gone))).toMatchObject([
      { rule: "failure-policy", path: `metadata.annotations[${ANNOTATION.failurePolicy}]` },
    ]);
  });

  it.each([
    ["changed", later],
    ["gone", gone],
  ])("keeps its codes when the policy has %s, and the same file sent again changes nothing", (_what, known) => {
    const before = stored(injected(create(named.build())));
    const outcome = update(withCrdDefaults(named.build()), before, settings, known);
    expect(outcome.warnings).toEqual([]);
    expect(specOf(injected(outcome))).toEqual(specOf(before));
    const verdict = validate({
      operation: "UPDATE",
      namespace: "default",
      object: injected(outcome),
      oldObject: before,
      config: settings,
      policies: known,
    });
    expect({ errors: verdict.errors, warnings: verdict.warnings.map(({ rule }) => rule) }).toEqual({
      errors: [],
      warnings: [],
    });
  });

  it("keeps its codes with a warning if it names another policy", () => {
    const before = stored(injected(create(named.build())));
    const renamed = plain().annotation(ANNOTATION.failurePolicy, "other").build();
    const outcome = update(withCrdDefaults(renamed), before);
    expect(warningTexts(outcome)).toEqual([
      expect.stringContaining("a running JobSet keeps the settings it was injected with"),
    ]);
    expect(specOf(injected(outcome))).toEqual(specOf(before));
  });

  it("is valid for a replica that does not know the policy yet, if it is injected", () => {
    const object = injected(create(named.build()));
    const request = { operation: "CREATE", namespace: "default", object, config: settings, policies: gone } as const;
    expect(validate(request)).toMatchObject({ allowed: true, errors: [] });
  });

  it("gets the current codes of the policy when it is copied with its injected parts", () => {
    const copy = injected(create(named.build()));
    const fresh = injected(create(named.build(), settings, later));
    expect(specOf(injected(create(copy, settings, later)))).toEqual(specOf(fresh));
    expect(createPatch(copy, injected(create(copy)))).toEqual([]);
  });

  it("is injected with the current policy if its record was lost", () => {
    const before = stored(injected(create(named.build())));
    const metadata = before["metadata"] as { annotations: Record<string, string> };
    delete metadata.annotations[ANNOTATION.status];
    expect(specOf(injected(update(withCrdDefaults(named.build()), before, settings, policies)))).toEqual(
      specOf(before),
    );
  });
});

it("may have a record with invalid exit codes, which are ignored", () => {
  for (const fail of ["0", "x", 7, null, ["7"]]) {
    const status = JSON.stringify({ inputs: { [ANNOTATION.failurePolicy]: "x" }, exitCodes: { fail, recreate: "" } });
    const record = readRecord({ metadata: { annotations: { [ANNOTATION.status]: status } } });
    expect(record?.inputs).toEqual({ [ANNOTATION.failurePolicy]: "x" });
    expect(record?.exitCodes?.fail ?? []).toEqual([]);
  }
});

it("has the rule of the workers in templates that are read back", () => {
  const [worker] = templateOf(injected(create(named.build()))).containers;
  expect(at(worker, "restartPolicyRules", 0, "exitCodes", "values")).toEqual([0, 78, 80, 214]);
});
