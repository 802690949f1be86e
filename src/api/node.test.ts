import { describe, expect, it } from "vitest";
import { readNode } from "./node.ts";

const metadata = { name: "node-1", uid: "u", resourceVersion: "1" };
const identity = { name: "node-1", namespace: "", uid: "u", resourceVersion: "1" };
const taint = { key: "node.kubernetes.io/unreachable" };
const unknown = { type: "Ready", status: "Unknown", lastTransitionTime: "2026-01-01T00:00:00Z" };

describe("a node", () => {
  it.each([
    ["without taints", {}],
    ["not ready, but with a kubelet that answers", { taints: [{ key: "node.kubernetes.io/not-ready" }] }],
    ["with taints that are none", { taints: "unreachable" }],
  ])("%s is not unreachable", (_, spec) => {
    expect(readNode({ metadata, spec })).toEqual(identity);
  });

  it("is unreachable since its taint was added", () => {
    const taints = [
      { ...taint, effect: "NoSchedule" },
      { ...taint, effect: "NoExecute", timeAdded: "2026-01-01T00:00:05Z" },
    ];
    const node = readNode({ metadata, spec: { taints }, status: { conditions: [unknown] } });
    expect(node.unreachable).toEqual({ since: "2026-01-01T00:00:05Z" });
  });

  it("is unreachable since it stopped reporting, when its taint has no time", () => {
    const spec = { taints: [{ ...taint, effect: "NoSchedule" }] };
    expect(readNode({ metadata, spec, status: { conditions: [unknown] } }).unreachable).toEqual({
      since: "2026-01-01T00:00:00Z",
    });
    expect(readNode({ metadata, spec }).unreachable).toEqual({});
  });
});
