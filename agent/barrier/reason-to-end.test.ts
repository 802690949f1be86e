import { expect, it } from "vitest";
import { reasonToEnd } from "./reason-to-end.ts";

const STARTED = Date.parse("2026-11-16T12:00:00.700Z");

/** Webhooks for Pods have put a proxy in front of the agent, and a helper behind it. */
const SPEC = {
  initContainers: [{ name: "proxy" }, { name: "reprise-agent" }, { name: "fetch" }],
  containers: [{ name: "train" }],
};

function podWith(list: "initContainerStatuses" | "containerStatuses", name: string, startedAt: string) {
  return { spec: SPEC, status: { [list]: [{ name, state: { running: { startedAt } } }] } };
}

it.each<[string, unknown]>([
  ["a new Pod", { metadata: {}, spec: SPEC, status: { phase: "Pending" } }],
  ["its own start", podWith("initContainerStatuses", "reprise-agent", "2026-11-16T12:00:05Z")],
  ["what stands in front of it", podWith("initContainerStatuses", "proxy", "2026-11-16T12:00:05Z")],
  // The kubelet reports nothing while it waits at the barrier, so this is what it said last.
  ["a worker from before the restart", podWith("containerStatuses", "train", "2026-11-16T11:59:59Z")],
  [
    "a worker that ended",
    { spec: SPEC, status: { containerStatuses: [{ name: "train", state: { terminated: {} } }] } },
  ],
  ["a time that cannot be read", podWith("containerStatuses", "train", "noon")],
  ["nonsense", "?"],
  ["more nonsense", { metadata: [], spec: 1, status: { containerStatuses: [null, 3], initContainerStatuses: {} } }],
])("goes on for %s", (_case, pod) => {
  expect(reasonToEnd(pod, STARTED)).toBeUndefined();
});

it("ends for a Pod that is being deleted, which the kubelet cannot end as long as it waits", () => {
  const pod = { metadata: { deletionTimestamp: "2026-11-16T12:00:30Z" } };
  expect(reasonToEnd(pod, STARTED)).toBe("the Pod is being deleted");
});

it.each([
  ["initContainerStatuses", "fetch", "2026-11-16T12:00:01Z"],
  ["containerStatuses", "train", "2026-11-16T12:00:01Z"],
  // A container runtime can be back as fast as that.
  ["containerStatuses", "train", "2026-11-16T12:00:00Z"],
] as const)("ends when something of %s runs already: %s since %s", (list, name, since) => {
  const pod = podWith(list, name, since);
  expect(reasonToEnd(pod, STARTED)).toBe(`the container ${name} did not wait for the barrier`);
});
