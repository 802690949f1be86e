import { expect, it } from "vitest";
import { exitReason } from "./exit-reason.ts";

const STARTED = Date.parse("2026-11-16T12:00:00.700Z");

/** Other admission webhooks have put a proxy before the agent and an initContainer after it. */
const SPEC = {
  initContainers: [{ name: "proxy" }, { name: "reprise-agent" }, { name: "fetch" }],
  containers: [{ name: "train" }],
};

function podWith(list: "initContainerStatuses" | "containerStatuses", name: string, startedAt: string) {
  return { spec: SPEC, status: { [list]: [{ name, state: { running: { startedAt } } }] } };
}

it.each<[string, unknown]>([
  ["a new Pod", { metadata: {}, spec: SPEC, status: { phase: "Pending" } }],
  ["the start of the agent itself", podWith("initContainerStatuses", "reprise-agent", "2026-11-16T12:00:05Z")],
  ["a container before the agent", podWith("initContainerStatuses", "proxy", "2026-11-16T12:00:05Z")],
  // The kubelet reports nothing while the hook runs, so this is its last report.
  ["a worker from before the restart", podWith("containerStatuses", "train", "2026-11-16T11:59:59Z")],
  [
    "a worker that ended",
    { spec: SPEC, status: { containerStatuses: [{ name: "train", state: { terminated: {} } }] } },
  ],
  ["an unreadable time", podWith("containerStatuses", "train", "noon")],
  ["a Pod that is a string", "?"],
  [
    "a Pod with fields of the wrong type",
    { metadata: [], spec: 1, status: { containerStatuses: [null, 3], initContainerStatuses: {} } },
  ],
])("no reason to exit for %s", (_case, pod) => {
  expect(exitReason(pod, STARTED)).toBeUndefined();
});

it("a Pod that is being deleted is a reason to exit: the kubelet cannot stop it while it waits", () => {
  const pod = { metadata: { deletionTimestamp: "2026-11-16T12:00:30Z" } };
  expect(exitReason(pod, STARTED)).toBe("the Pod is being deleted");
});

it.each([
  ["initContainerStatuses", "fetch", "2026-11-16T12:00:01Z"],
  ["containerStatuses", "train", "2026-11-16T12:00:01Z"],
  // A container runtime can be back within the same second.
  ["containerStatuses", "train", "2026-11-16T12:00:00Z"],
] as const)(
  "a container that runs in spite of the barrier is a reason to exit: %s %s since %s",
  (list, name, since) => {
    const pod = podWith(list, name, since);
    expect(exitReason(pod, STARTED)).toBe(`the container ${name} did not wait for the barrier`);
  },
);
