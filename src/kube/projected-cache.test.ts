import fc from "fast-check";
import { expect, test } from "vitest";
import type { Change } from "../api/change.ts";
import type { JsonObject } from "../json/types.ts";
import { ProjectedCache } from "./projected-cache.ts";

function object(name: string, uid: string, resourceVersion: number): JsonObject {
  return { metadata: { namespace: "ns", name, uid, resourceVersion: String(resourceVersion) }, bulk: "x".repeat(50) };
}

const versionIn = (raw: JsonObject) => JSON.stringify(raw["metadata"]);

function listOf<T>(cache: ProjectedCache<T>, raws: readonly JsonObject[]): Change<T>[] {
  const observed = raws.map((raw) => cache.observe(raw));
  return [...cache.replace(new Map(observed.map((observed) => [observed.key, observed])), new Set())];
}

test("a list reports only what differs from the cache", () => {
  const cache = new ProjectedCache(versionIn);
  listOf(cache, [object("same", "u1", 1), object("changed", "u2", 2), object("gone", "u3", 3)]);
  const changes = listOf(cache, [object("same", "u1", 1), object("changed", "u2", 9), object("new", "u4", 8)]);
  expect(changes.map(({ kind, key }) => [kind, key])).toEqual([
    ["deleted", "ns/gone"],
    ["updated", "ns/changed"],
    ["added", "ns/new"],
  ]);
});

test("an object recreated under the same name is deleted, then added", () => {
  const cache = new ProjectedCache(versionIn);
  listOf(cache, [object("a", "old", 1)]);
  const changes = listOf(cache, [object("a", "new", 7)]);
  expect(changes.map(({ kind, uid }) => [kind, uid])).toEqual([
    ["deleted", "old"],
    ["added", "new"],
  ]);
});

test("the deletion of a predecessor does not remove its successor", () => {
  const cache = new ProjectedCache(versionIn);
  listOf(cache, [object("a", "new", 7)]);
  const predecessor = cache.observe(object("a", "old", 6));
  expect([...cache.remove(predecessor, predecessor)]).toEqual([]);
  expect(cache.size).toBe(1);
});

test("an object is not projected again in the same version", () => {
  let projections = 0;
  const cache = new ProjectedCache(() => ++projections);
  listOf(cache, [object("a", "u", 1)]);
  listOf(cache, [object("a", "u", 1)]);
  expect(projections).toBe(1);
});

test("changes rebuild the server's state from any mix of events and lists, and no version comes twice", () => {
  const step = fc.record({
    kind: fc.constantFrom("write", "delete", "list", "replay"),
    name: fc.constantFrom("a", "b", "c"),
    seen: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const server = new Map<string, JsonObject>();
      const cache = new ProjectedCache(versionIn);
      const rebuilt = new Map<string, string>();
      const versions: string[] = [];
      let revision = 0;
      let last: JsonObject | undefined;
      const consume = (changes: Iterable<Change<string>>) => {
        for (const change of changes) {
          if (change.kind === "deleted") {
            expect(rebuilt.get(change.key)).toBe(change.old);
            rebuilt.delete(change.key);
            continue;
          }
          expect(rebuilt.get(change.key)).toBe(change.kind === "updated" ? change.old : undefined);
          rebuilt.set(change.key, change.item);
          versions.push(change.resourceVersion);
        }
      };
      let uid = 0;
      const uids = new Map<string, string>();
      for (const { kind, name, seen } of steps) {
        if (kind === "write") {
          if (!server.has(name)) uids.set(name, `u${uid++}`);
          last = object(name, uids.get(name) ?? "", ++revision);
          server.set(name, last);
          if (seen) consume(cache.upsert(cache.observe(last)));
          else consume(listOf(cache, [...server.values()]));
        } else if (kind === "delete") {
          const victim = server.get(name);
          if (victim === undefined) continue;
          server.delete(name);
          if (seen) consume(cache.remove(cache.observe(victim), undefined));
          else consume(listOf(cache, [...server.values()]));
          last = undefined;
        } else if (kind === "replay" && last !== undefined) consume(cache.upsert(cache.observe(last)));
        else consume(listOf(cache, [...server.values()]));
      }
      consume(listOf(cache, [...server.values()]));
      expect([...rebuilt.keys()].sort()).toEqual([...server.keys()].map((name) => `ns/${name}`).sort());
      expect([...cache.values()].sort()).toEqual([...server.values()].map(versionIn).sort());
      expect(new Set(versions).size).toBe(versions.length);
    }),
  );
});
