import { expect, test } from "vitest";
import type { JsonObject } from "../api/admission.ts";
import { cores, injectedJobSet, jobSet } from "./testing.ts";

const plain = jobSet();

function create(object: JsonObject) {
  return { operation: "CREATE", namespace: "team", object } as const;
}

test("what injection made is intact", () => {
  expect(cores.validate(create(injectedJobSet()))).toMatchObject({ allowed: true, results: [{ verdict: "pass" }] });
});

test("a JobSet that injection missed is refused, with the place of the first thing that is missing", () => {
  const { allowed, errors } = cores.validate(create(plain));
  expect(allowed).toBe(false);
  expect(errors[0]?.path).toMatch(/^metadata\./);
});

test("a container that another webhook put in front of the agent is found", () => {
  const text = JSON.stringify(injectedJobSet()).replace(
    '"initContainers":[',
    '"initContainers":[{"name":"first","image":"i"},',
  );
  const { allowed, errors } = cores.validate(create(JSON.parse(text)));
  expect(allowed).toBe(false);
  expect(errors[0]?.path).toMatch(/^spec\.replicatedJobs\[0\]\.template\.spec\.template\.spec\.initContainers\[0\]/);
});

test("a JobSet that opted out, and any UPDATE, has nothing to be intact", () => {
  const optedOut = { ...plain, metadata: { name: "train", annotations: { "reprise.dev/inject": "false" } } };
  const update = { operation: "UPDATE", namespace: "team", object: plain, oldObject: plain } as const;
  for (const request of [create(optedOut), update]) {
    expect(cores.validate(request)).toMatchObject({ allowed: true, results: [{ verdict: "not-applicable" }] });
  }
});
