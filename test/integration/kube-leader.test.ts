// Two candidates as separate processes on a real Lease: at most one writes at any time, even if the leader is killed.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { connect, type KubeClient } from "../../src/kube/client.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane.ts";

const TIMING = { leaseMs: 3_000, renewDeadlineMs: 2_000, retryMs: 300 };

interface TermEvent {
  readonly identity: string;
  readonly event: "leading" | "writing" | "written" | "ended" | "released" | "error";
  readonly monotonicMs: number;
}

let plane: ControlPlane;
let client: KubeClient;
let log: TermEvent[];
let processes: ChildProcess[];

beforeAll(async () => {
  plane = await startControlPlane();
  client = connect({ kubeconfig: plane.kubeconfig });
  const body = { metadata: { name: "written-by-the-leader" } };
  await client.request("POST", "/api/v1/namespaces/default/configmaps", { body });
});

beforeEach(() => {
  log = [];
  processes = [];
});

afterEach(async () => {
  for (const child of processes) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  await client.request("DELETE", "/apis/coordination.k8s.io/v1/namespaces/default/leases/election");
});

afterAll(async () => {
  await client?.close();
  await plane?.stop();
});

function candidate(identity: string): ChildProcess {
  const script = fileURLToPath(new URL("leader-candidate.ts", import.meta.url));
  const durations = [TIMING.leaseMs, TIMING.renewDeadlineMs, TIMING.retryMs].map(String);
  const child = spawn(process.execPath, [script, plane.kubeconfig, identity, ...durations], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  processes.push(child);
  if (child.stdout === null) throw new Error("no output to read");
  createInterface({ input: child.stdout }).on("line", (line) => log.push(JSON.parse(line)));
  return child;
}

const of = (identity: string, event: TermEvent["event"]) =>
  log.filter((entry) => entry.identity === identity && entry.event === event);

/** From the first to the last observed write of each process. */
function writingSpan(identity: string): { from: number; to: number } {
  const times = [...of(identity, "writing"), ...of(identity, "written")].map(({ monotonicMs }) => monotonicMs);
  return { from: Math.min(...times), to: Math.max(...times) };
}

async function lease(): Promise<unknown> {
  const answer = await client.request("GET", "/apis/coordination.k8s.io/v1/namespaces/default/leases/election");
  return answer["spec"];
}

async function twoCandidates(): Promise<{ leader: ChildProcess; first: string; second: string }> {
  const children = { one: candidate("one"), two: candidate("two") };
  await vi.waitFor(() => expect(log.some(({ event }) => event === "written")).toBe(true), { timeout: 15_000 });
  const first = log[0]?.identity === "one" ? "one" : "two";
  const second = first === "one" ? "two" : "one";
  // The standby has had time to try.
  await new Promise((resolve) => setTimeout(resolve, 2 * TIMING.retryMs));
  return { leader: children[first], first, second };
}

test("after a kill -9 of the leader the other takes over, and their writing never overlaps", async () => {
  const { leader, first, second } = await twoCandidates();
  leader.kill("SIGKILL");
  await once(leader, "exit");
  await vi.waitFor(() => expect(of(second, "written").length).toBeGreaterThan(3), { timeout: 15_000 });
  expect(writingSpan(first).to).toBeLessThan(writingSpan(second).from);
  expect(await lease()).toMatchObject({ holderIdentity: second, leaseTransitions: 1 });
});

test("a leader that was stopped until its Lease expired writes nothing when it continues", async () => {
  const { leader, first, second } = await twoCandidates();
  leader.kill("SIGSTOP");
  await vi.waitFor(() => expect(of(second, "written").length).toBeGreaterThan(3), { timeout: 15_000 });
  const frozen = of(first, "writing").length;
  leader.kill("SIGCONT");
  await vi.waitFor(() => expect(of(first, "ended")).toHaveLength(1), { timeout: 10_000 });
  expect(of(first, "writing")).toHaveLength(frozen);
});

test("a leader that shuts down releases the Lease, so that the other need not wait until it expires", async () => {
  const { leader, first, second } = await twoCandidates();
  leader.kill("SIGTERM");
  await once(leader, "exit");
  const released = of(first, "released")[0]?.monotonicMs ?? Number.NaN;
  await vi.waitFor(() => expect(of(second, "leading")).toHaveLength(1), { timeout: 15_000 });
  const taken = of(second, "leading")[0]?.monotonicMs ?? Number.NaN;
  expect(taken - released).toBeLessThan(TIMING.leaseMs - 1_000);
  expect(writingSpan(first).to).toBeLessThan(taken);
});
