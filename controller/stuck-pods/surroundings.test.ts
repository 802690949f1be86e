import { expect, it } from "vitest";
import { ObservedSurroundings } from "./surroundings.ts";

const settings = { enabled: true, threshold: 60_000, brake: 0.55 };

function node(name: string, since?: string) {
  const identity = { name, namespace: "", uid: name, resourceVersion: "1" };
  return { ...identity, ...(since === undefined ? {} : { unreachable: { since } }) };
}

it("returns whether a change of a node may change a decision", () => {
  const around = new ObservedSurroundings(settings, 0);
  const changes = [
    around.observeNode(node("a"), 0),
    around.observeNode(node("b"), 0),
    around.observeNode(node("a", "t1"), 0),
    around.observeNode(node("a", "t1"), 0),
    around.observeNode(node("a", "t2"), 0),
    around.observeNode(node("a"), 0),
    around.observeNode(node("a", "t3"), 0),
    around.forgetNode("a", 0),
    around.forgetNode("a", 0),
  ];
  expect(changes).toEqual([false, false, true, false, true, true, true, true, false]);
});

it("brakes when no reachable node is left, even by a deletion, and remembers when that ended", () => {
  const around = new ObservedSurroundings(settings, 1);
  around.observeNode(node("a"), 0);
  around.observeNode(node("b", "t1"), 0);
  expect([around.braked, around.nodes]).toEqual([false, 2]);
  expect(around.forgetNode("a", 0)).toBe(true);
  expect(around.braked).toBe(true);
  expect(around.settledAt).toBe(1);
  expect(around.observeNode(node("c"), 5)).toBe(true);
  expect([around.braked, around.settledAt]).toEqual([false, 5]);
});

it("returns whether a namespace was opted in or out", () => {
  const around = new ObservedSurroundings(settings, 0);
  expect([true, true, false, false].map((optedIn) => around.observeNamespace("ml", optedIn))).toEqual([
    true,
    false,
    true,
    false,
  ]);
});
