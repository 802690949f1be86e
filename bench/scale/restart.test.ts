import { expect, it } from "vitest";
import { combine } from "./restart.ts";

const restart = (lifted: number, cpu: number, patches: number) => ({
  seconds: { started: 1, published: 2, lifted },
  cpu: { "kube-apiserver": cpu },
  requests: new Map([["PATCH pods", patches]]),
  refused: 0,
  watchBytes: 100,
  agentRequests: patches,
});

it("one slow restart does not count for the time, and everything counts for the cost", () => {
  const { seconds, cpu, requests } = combine([restart(3, 1, 4), restart(60, 2, 4), restart(4, 6, 10)]);
  expect(seconds).toEqual({ started: 1, published: 2, lifted: 4 });
  expect(cpu).toEqual({ "kube-apiserver": 3 });
  expect(requests.get("PATCH pods")).toBe(6);
});
