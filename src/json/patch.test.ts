import fc from "fast-check";
import jsonPatch, { type Operation } from "fast-json-patch";
import { describe, expect, it } from "vitest";
import { create, injected } from "../../test/builders/injection.ts";
import { container, jobSet } from "../../test/builders/jobset.ts";
import { createPatch, type PatchOperation } from "./patch.ts";
import type { Json, JsonObject } from "./types.ts";

function applied(before: JsonObject, patch: readonly PatchOperation[]): JsonObject {
  const operations = structuredClone(patch) as Operation[];
  return jsonPatch.applyPatch(structuredClone(before), operations, true, true, false).newDocument;
}

describe("a patch", () => {
  it("is empty if nothing changed, shared or not", () => {
    const object = jobSet().replicatedJob("workers").build();
    expect(createPatch(object, object)).toEqual([]);
    expect(createPatch(object, structuredClone(object))).toEqual([]);
  });

  it.each<[string, JsonObject, JsonObject, PatchOperation[]]>([
    ["adds a key", {}, { a: 1 }, [{ op: "add", path: "/a", value: 1 }]],
    ["removes a key", { a: 1 }, {}, [{ op: "remove", path: "/a" }]],
    ["replaces a value", { a: 1 }, { a: [2] }, [{ op: "replace", path: "/a", value: [2] }]],
    ["replaces null", { a: null }, { a: {} }, [{ op: "replace", path: "/a", value: {} }]],
    ["escapes a key", { "a/b~c": 1 }, { "a/b~c": 2 }, [{ op: "replace", path: "/a~1b~0c", value: 2 }]],
    ["puts an item in front", { a: [1, 2] }, { a: [0, 1, 2] }, [{ op: "add", path: "/a/0", value: 0 }]],
    ["puts an item behind", { a: [1, 2] }, { a: [1, 2, 3] }, [{ op: "add", path: "/a/2", value: 3 }]],
    [
      "takes items out from the end",
      { a: [1, 2, 3, 4] },
      { a: [1, 4] },
      [
        { op: "remove", path: "/a/2" },
        { op: "remove", path: "/a/1" },
      ],
    ],
    [
      "puts an item in front of named ones that change",
      { a: [{ name: "x", b: 1 }, { name: "y" }] },
      { a: [{ name: "new" }, { name: "x", b: 2 }, { name: "y", c: 3 }] },
      [
        { op: "add", path: "/a/0", value: { name: "new" } },
        { op: "replace", path: "/a/1/b", value: 2 },
        { op: "add", path: "/a/2/c", value: 3 },
      ],
    ],
    ["goes into an item", { a: [{ b: 1 }, 2] }, { a: [{ b: 2 }, 2] }, [{ op: "replace", path: "/a/0/b", value: 2 }]],
  ])("%s", (_case, before, after, patch) => {
    expect(createPatch(before, after)).toEqual(patch);
    expect(applied(before, patch)).toEqual(after);
  });

  it("does not contain the parts that injection shares", () => {
    const object = jobSet()
      .replicatedJob("workers", { initContainers: [container("a"), container("b")], containers: [container("train")] })
      .build();
    const patch = createPatch(object, injected(create(object)));
    expect(patch.map(({ path }) => path).filter((path) => path.includes("initContainers"))).toEqual([
      expect.stringMatching(/initContainers\/0$/),
      expect.stringMatching(/initContainers\/1\/restartPolicy$/),
      expect.stringMatching(/initContainers\/2\/restartPolicy$/),
    ]);
    expect(applied(object, patch)).toEqual(injected(create(object)));
  });

  it("replaces a value that is nested deeper than any object", () => {
    const deep = (end: Json): JsonObject => {
      let value: Json = end;
      for (let level = 0; level < 50_000; level++) value = [value];
      return { a: value };
    };
    expect(createPatch(deep(1), deep(2))).toHaveLength(1);
  });

  it("turns any object into any other", () => {
    const key = fc.constantFrom("a", "b", "a/b", "~", "", "constructor", "name");
    const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
      tree: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        fc.constantFrom<Json>(null, true, 0, 1, "x"),
        fc.array(tie("tree"), { maxLength: 4 }),
        fc.dictionary(key, tie("tree"), { maxKeys: 4, noNullPrototype: true }),
      ),
    }));
    const object = fc.dictionary(key, tree, { maxKeys: 4, noNullPrototype: true });
    fc.assert(
      fc.property(object, object, (before, after) => {
        expect(applied(before, createPatch(before, after))).toEqual(after);
      }),
      { numRuns: 500 },
    );
  });
});
