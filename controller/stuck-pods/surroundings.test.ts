import { expect, it } from "vitest";
import { ObservedSurroundings } from "./surroundings.ts";

const settings = { enabled: true, threshold: 60_000, brake: 0.55 };

function node(name: string, since?: string) {
  const identity = { name, namespace: "", uid: name, resourceVersion: "1" };
  return { ...identity, ...(since === undefined ? {} : { unreachable: { since } }) };
}

it("says whether a change of a node matters to anybody", () => {
  const around = new ObservedSurroundings(settings);
  const changes = [
    around.observeNode(node("a")),
    around.observeNode(node("b")),
    around.observeNode(node("a", "t1")),
    around.observeNode(node("a", "t1")),
    around.observeNode(node("a", "t2")),
    around.observeNode(node("a")),
    around.observeNode(node("a", "t3")),
    around.forgetNode("a"),
    around.forgetNode("a"),
  ];
  expect(changes).toEqual([false, false, true, false, true, true, true, true, false]);
});

it("brakes when the last reachable node goes, also by being deleted", () => {
  const around = new ObservedSurroundings(settings);
  around.observeNode(node("a"));
  around.observeNode(node("b", "t1"));
  expect([around.braked, around.nodes]).toEqual([false, 2]);
  expect(around.forgetNode("a")).toBe(true);
  expect(around.braked).toBe(true);
  expect(around.observeNode(node("c"))).toBe(true);
  expect(around.braked).toBe(false);
});

it("knows the namespaces that are opted in", () => {
  const around = new ObservedSurroundings(settings);
  expect([true, true, false, false].map((optedIn) => around.observeNamespace("ml", optedIn))).toEqual([
    true,
    false,
    true,
    false,
  ]);
});
