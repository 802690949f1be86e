// What must hold for every object; scripts/fuzz-inject.ts does the same a million times.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { create, update } from "../../test/builders/injection.ts";
import { checkInvariants, checkPatch } from "../../test/builders/invariants.ts";
import { container, jobSet } from "../../test/builders/jobset.ts";
import { RandomJobSet } from "../../test/builders/random-jobset.ts";
import { ANNOTATION } from "../api/names.ts";
import type { Json, JsonObject } from "../json/types.ts";

/** CPU-bound: takes seconds on a busy machine. */
const TIMEOUT_MS = 30_000;

describe("injection", { timeout: TIMEOUT_MS }, () => {
  it("holds its invariants on random JobSets", () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const random = new RandomJobSet(seed);
        const object = random.build();
        checkPatch(object, checkInvariants(object, random.storable));
      }),
      { numRuns: 300 },
    );
  });

  it("holds its invariants with junk anywhere in a real JobSet", () => {
    const paths = pathsOf(real());
    const mutation = fc.record({ path: fc.constantFrom(...paths), value: fc.jsonValue({ maxDepth: 3 }) });
    fc.assert(
      fc.property(fc.array(mutation, { minLength: 1, maxLength: 3 }), (mutations) => {
        const object = real();
        for (const { path, value } of mutations) put(object, path, value as Json);
        checkPatch(object, checkInvariants(object, false));
      }),
      { numRuns: 500 },
    );
  });

  it("never throws on an update, whatever is stored and whatever is sent", () => {
    const seed = fc.nat();
    fc.assert(
      fc.property(seed, seed, fc.boolean(), (sent, stored, wasInjected) => {
        const old = new RandomJobSet(stored).build();
        const outcome = create(old);
        const live = wasInjected && outcome.kind === "injected" ? outcome.object : old;
        expect(["injected", "skipped"]).toContain(update(new RandomJobSet(sent).build(), live).kind);
      }),
      { numRuns: 300 },
    );
  });
});

function real(): JsonObject {
  return jobSet()
    .annotation(ANNOTATION.failExitCodes, "40")
    .annotation(ANNOTATION.nodeLossGrace, "30s")
    .spec({ failurePolicy: { maxRestarts: 1, rules: [{ name: "a", action: "RestartJobSet" }] } })
    .replicatedJob("workers", {
      pods: 2,
      podMetadata: { labels: { a: "b" }, annotations: { c: "d" } },
      pod: { volumes: [{ name: "v", emptyDir: {} }], tolerations: [{ key: "k" }], securityContext: { runAsUser: 0 } },
      initContainers: [container("fetch", { env: [{ name: "A", value: "1" }] })],
      containers: [container("train", { resources: { limits: { cpu: "1", memory: "1Gi" } }, env: [] })],
    })
    .replicatedJob("driver", { pods: 1, job: { podFailurePolicy: { rules: [{ action: "Count" }] } } })
    .build();
}

type Path = readonly (string | number)[];

function pathsOf(value: Json, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  const items: [string | number, Json][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [...(path.length === 0 ? [] : [path]), ...items.flatMap(([key, item]) => pathsOf(item, [...path, key]))];
}

/** Sets the value if the path still exists. */
function put(object: JsonObject, path: Path, value: Json): void {
  let parent: Json | undefined = object;
  for (const key of path.slice(0, -1)) {
    if (typeof parent !== "object" || parent === null) return;
    parent = Array.isArray(parent) ? parent[Number(key)] : parent[key];
  }
  const last = path.at(-1) ?? "";
  if (Array.isArray(parent)) parent[Number(last)] = value;
  else if (typeof parent === "object" && parent !== null) parent[last] = value;
}
