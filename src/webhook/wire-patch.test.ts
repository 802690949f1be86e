import { isDeepStrictEqual } from "node:util";
import jsonPatch, { type Operation } from "fast-json-patch";
import { expect, test } from "vitest";
import { create, injected, update } from "../../test/builders/injection.ts";
import { container, jobSet } from "../../test/builders/jobset.ts";
import { RandomJobSet } from "../../test/builders/random-jobset.ts";
import { stored } from "../../test/builders/stored.ts";
import type { Json, JsonObject } from "../json/types.ts";
import { createWirePatch } from "./wire-patch.ts";

const LIST = "/spec/replicatedJobs";

function twoJobs(fields: JsonObject = {}): JsonObject {
  return jobSet()
    .replicatedJob("leader", { pods: 1, containers: [container("train", fields)] })
    .replicatedJob("workers", { pods: 4, containers: [container("train")] })
    .build();
}

function inList(object: JsonObject): string[] {
  const patch = createWirePatch(object, injected(create(object)));
  return patch.map(({ path }) => path).filter((path) => path.startsWith(LIST));
}

/** As the API server gets it: through text. */
function applied(before: JsonObject, after: JsonObject): JsonObject {
  const operations: Operation[] = JSON.parse(JSON.stringify(createWirePatch(before, after)));
  return jsonPatch.applyPatch(structuredClone(before), operations, true, true, false).newDocument;
}

test("all additions to the replicatedJobs are one operation", () => {
  expect(inList(twoJobs())).toEqual([LIST]);
});

test("a JobSet that is applied again unchanged gets an empty patch", () => {
  const live = stored(injected(create(twoJobs())));
  expect(createWirePatch(live, injected(update(live, live)))).toEqual([]);
});

test("a single change deep in the list stays a small operation", () => {
  const before = injected(create(twoJobs()));
  const after = structuredClone(before);
  Object.assign(after["spec"] ?? {}, { suspend: true });
  expect(createWirePatch(before, after)).toEqual([{ op: "add", path: "/spec/suspend", value: true }]);
  const [first, ...others] = (after["spec"] as JsonObject)["replicatedJobs"] as JsonObject[];
  const renamed = {
    ...after,
    spec: { ...(before["spec"] as JsonObject), replicatedJobs: [{ ...first, name: "x" }, ...others] },
  };
  expect(createWirePatch(before, renamed).map(({ path }) => path)).toEqual([`${LIST}/0/name`]);
});

test("a number that was rounded when it was read is never written back", () => {
  // 9007199254740993 as it arrives here.
  const object = twoJobs({ securityContext: { runAsUser: 2 ** 53 } });
  expect(inList(object)).not.toContain(LIST);
  expect(JSON.stringify(createWirePatch(object, injected(create(object))))).not.toContain("runAsUser");
});

test("a rounded number behind the injected agent is not written back either", () => {
  const initContainers = [container("fetch", { securityContext: { runAsUser: 2 ** 53 } })];
  const object = jobSet().replicatedJob("workers", { initContainers }).build();
  expect(JSON.stringify(createWirePatch(object, injected(create(object))))).not.toContain("runAsUser");
});

test("values nested deeper than any Kubernetes object are not touched", () => {
  let nested: Json = {};
  for (let depth = 0; depth < 1_000; depth++) nested = [nested];
  expect(inList(twoJobs({ fieldOfTheFuture: nested }))).not.toContain(LIST);
});

test("the patch always gives the result of injection, for hundreds of random JobSets", () => {
  let compared = 0;
  for (let seed = 0; compared < 200; seed++) {
    const object: JsonObject = JSON.parse(JSON.stringify(new RandomJobSet(seed).build()));
    const outcome = create(object);
    if (outcome.kind !== "injected") continue;
    compared++;
    const made = applied(object, outcome.object);
    if (!isDeepStrictEqual(made, JSON.parse(JSON.stringify(outcome.object))))
      expect(made, `seed ${seed}`).toEqual(outcome.object);
  }
});
