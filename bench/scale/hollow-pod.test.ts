import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { readPod } from "../../src/api/pod.ts";
import { HollowPod } from "./hollow-pod.ts";
import type { PodShape } from "./pod-shape.ts";

const shape: PodShape = {
  name: "train-0",
  namespace: "team",
  uid: "u",
  jobSet: "train",
  serviceAccount: "default",
  agent: "agent",
  agentEnv: {},
  hasStartupProbe: true,
  workers: ["trainer"],
};

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** A Pod whose agents lift as soon as they are told to. */
class Bench {
  readonly reports: string[] = [];
  readonly started: string[] = [];
  readonly killed: string[] = [];
  /** How long the API server takes for a report. */
  latencyMs = 0;
  readonly pod: HollowPod;

  constructor(changes: Partial<PodShape> = {}) {
    this.pod = new HollowPod({ ...shape, ...changes }, 7, {
      report: async (_pod, patch) => {
        await sleep(this.latencyMs);
        const { containers, phase } = readPod(patch);
        this.reports.push(`${phase}: ${containers.map(({ state }) => state.kind).join(", ")}`);
      },
      startAgent: (agent) => this.started.push(agent),
      killAgent: (agent) => this.killed.push(agent),
      sleep,
    });
  }

  async run(): Promise<void> {
    this.pod.start();
    await vi.advanceTimersByTimeAsync(2_000);
    await this.lift();
  }

  async lift(): Promise<void> {
    void this.pod.agentLifted(this.started.at(-1) ?? "", 1);
    await vi.advanceTimersByTimeAsync(3_000);
  }
}

beforeEach(() => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));
afterEach(() => vi.useRealTimers());

it("a restart in place is four reports, as a kubelet makes them", async () => {
  const bench = new Bench();
  await bench.run();
  bench.reports.length = 0;
  bench.pod.agentExited("train-0#0", 88);
  await vi.advanceTimersByTimeAsync(3_000);
  await bench.lift();
  expect(bench.reports).toEqual([
    "Running: terminated, running",
    "Running: waiting, waiting",
    "Pending: running, waiting",
    "Running: running, running",
  ]);
  expect(bench.started).toEqual(["train-0#0", "train-0#1"]);
});

it("with a hook instead of a probe, the kubelet does not report a Pod that waits", async () => {
  const bench = new Bench({ hasStartupProbe: false });
  await bench.run();
  expect(bench.reports).toEqual(["Running: running, running"]);
});

it("of reports that wait for a slow API server only the latest is sent", async () => {
  const bench = new Bench();
  await bench.run();
  bench.reports.length = 0;
  bench.latencyMs = 2_000;
  bench.pod.agentExited("train-0#0", 88);
  await vi.advanceTimersByTimeAsync(8_000);
  expect(bench.reports).toEqual(["Running: terminated, running", "Pending: running, waiting"]);
});

it("a failed worker takes its agent down, and a Pod that is held stays down", async () => {
  const bench = new Bench();
  await bench.run();
  const { promise, resolve } = Promise.withResolvers<void>();
  bench.pod.hold(promise);
  bench.pod.fail(1);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(bench.killed).toEqual(["train-0#0"]);
  expect(bench.started).toHaveLength(1);
  expect(bench.pod.liftedAt).toBeUndefined();
  resolve();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(bench.started).toHaveLength(2);
});

it("what an earlier agent of the Pod reports late counts for nothing", async () => {
  const bench = new Bench();
  await bench.run();
  bench.pod.fail(1);
  await vi.advanceTimersByTimeAsync(3_000);
  await bench.pod.agentLifted("train-0#0", 1);
  bench.pod.agentPublished("train-0#0", 1);
  const { liftedAt, publishedAt, restarts } = bench.pod;
  expect({ liftedAt, publishedAt, restarts }).toEqual({ liftedAt: undefined, publishedAt: undefined, restarts: 1 });
});
