import { expect, it } from "vitest";
import { combine } from "./restart.ts";

const restart = (liftedSeconds: number, cpu: number, patches: number) => ({
  liftedSeconds,
  cpu: { "kube-apiserver": cpu },
  requests: new Map([["PATCH pods", patches]]),
  refused: 0,
  watchBytes: 100,
  agentRequests: patches,
});

it("one slow restart does not count for the time, and everything counts for the cost", () => {
  const { liftedSeconds, cpu, requests } = combine([restart(3, 1, 4), restart(60, 2, 4), restart(4, 6, 10)]);
  expect(liftedSeconds).toBe(4);
  expect(cpu).toEqual({ "kube-apiserver": 3 });
  expect(requests.get("PATCH pods")).toBe(6);
});
