// Workers that hang, on real kubelets: every process is alive, and nothing happens. The agents see it, the controller
// judges the group. Short limits keep the file short: users choose minutes.
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { rasAnswer } from "../../agent/testing/ras-answer.ts";
import { cpuMs } from "../../bench/process-cpu.ts";
import { memoryOf } from "../../bench/process-memory.ts";
import { ANNOTATION, PROGRESS_FILE_ENV, PROGRESS_PATH } from "../../src/api/names.ts";
import { asList, asMap } from "../../src/json/fields.ts";
import { processesOf } from "../cluster/container.ts";
import { waitFor } from "../cluster/proc.ts";
import { type GroupState, hang, podAt, scripted, TrainingGroup, uids } from "./group.ts";
import { type Installation, install } from "./reprise.ts";
import { SHARED_MOUNT_PATH, script } from "./scripts.ts";
import { SharedFolder } from "./shared-folder.ts";

// A test waits several times. Each wait has its own time limit, whose error says what it waited for.
vi.setConfig({ testTimeout: 300_000 });

const HANG_AFTER_MS = 6_000;
const LIMIT = { [ANNOTATION.hangAfter]: `${HANG_AFTER_MS / 1_000}s` };
const RESTART = { ...LIMIT, [ANNOTATION.onHang]: "restart" };
const RANKS = [0, 1, 2, 3];
const VICTIM = 2;

/** A look each half second, the time until the last worker has noticed, and the pause before the verdict. */
const VERDICT_MS = 2_000;

let installation: Installation;

beforeAll(async () => {
  installation = await install();
});

afterAll(async () => {
  await installation?.end();
});

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The last step of each rank, in the shared folder: what a checkpoint is to a real job. */
const stepOf = (rank: number | string) => `${SHARED_MOUNT_PATH}/step-${rank}`;

/**
 * Four ranks that make a step about twice a second. None begins one before all others have made the one before. Each
 * reports its step before it waits for the others.
 */
const TRAINS = script(
  `i=$(cat ${stepOf("$JOB_COMPLETION_INDEX")} 2>/dev/null || echo 0)`,
  `while :; do while [ -e ${SHARED_MOUNT_PATH}/pause ]; do sleep 0.1; done; i=$((i + 1)); ` +
    `echo step=$i > $${PROGRESS_FILE_ENV}; echo $i > ${stepOf("$JOB_COMPLETION_INDEX")}; ` +
    `for peer in ${RANKS.join(" ")}; do ` +
    `until [ "$(cat ${stepOf("$peer")} 2>/dev/null || echo 0)" -ge $i ] 2>/dev/null; do sleep 0.2; done; done; ` +
    "sleep 0.3; done",
);

/** The same where no hangs are detected. */
const TRAINS_UNSEEN = TRAINS.replace(`$${PROGRESS_FILE_ENV}`, "/dev/null");

/** Answers each line as NCCL does, and ends the connection with the status. */
const SERVES_RAS =
  "exec nc -ll -p 28028 -e sh -c 'while read -r line; do case $line in " +
  `CLIENT*) echo SERVER PROTOCOL 2;; VERBOSE*) cat ${SHARED_MOUNT_PATH}/answer; exit;; *) echo OK;; esac; done'`;

class Training {
  readonly group: TrainingGroup;
  readonly #path: string;

  private constructor(group: TrainingGroup, path: string) {
    this.group = group;
    this.#path = path;
  }

  static async start(name: string, annotations: Readonly<Record<string, string>>, text = TRAINS): Promise<Training> {
    const folder = new SharedFolder(installation.cluster, name);
    const podSpec = { workers: folder.podSpec(scripted(text)) };
    const group = await TrainingGroup.start(installation, name, { stages: { workers: 4 }, annotations, podSpec });
    return new Training(group, join(installation.cluster.stateDir, "shared", name));
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.#path, `.${file}`), text);
    renameSync(join(this.#path, `.${file}`), join(this.#path, file));
  }

  remove(file: string): void {
    rmSync(join(this.#path, file));
  }

  get lastStepAt(): number {
    return Math.max(...RANKS.map((rank) => statSync(join(this.#path, `step-${rank}`)).mtimeMs));
  }

  #least(): number {
    return Math.min(...RANKS.map((rank) => Number(readFileSync(join(this.#path, `step-${rank}`), "utf8"))));
  }

  /** Waits until every rank has made so many more steps. */
  async steps(more: number): Promise<void> {
    const from = await waitFor(`${this.group.name} trains`, 60_000, () => {
      try {
        return this.#least() + 1;
      } catch {
        return undefined;
      }
    });
    await waitFor(`${this.group.name} makes ${more} steps`, 60_000, () => this.#least() >= from + more);
  }
}

const reportsOf = ({ pods }: GroupState) => pods.map(({ hang: report }) => report);
const conditionOf = ({ conditions }: GroupState) => conditions.find(({ type }) => type === "Hung");

async function eventsOf(name: string): Promise<readonly string[]> {
  const path = `/apis/events.k8s.io/v1/namespaces/${installation.namespace}/events`;
  const { items } = await installation.client.request("GET", path);
  return asList(items)
    .map(asMap)
    .filter(({ reason, regarding }) => reason === "GroupHung" && asMap(regarding)["name"] === name)
    .map(({ note }) => String(note));
}

describe.concurrent("a group of four", () => {
  test("restarts in place when one worker hangs, blames it, and goes on with its steps", async () => {
    const training = await Training.start("restarts", RESTART);
    const { group } = training;
    const before = await group.running();
    await training.steps(4);
    // Nothing was written while all was well.
    expect(reportsOf(await group.running())).toEqual(["", "", "", ""]);
    // What `reprise status` asks.
    const { name } = podAt(before, VICTIM);
    const asked = `/api/v1/namespaces/${installation.namespace}/pods/${name}:24670/proxy${PROGRESS_PATH}`;
    const answer = await installation.client.request("GET", asked);
    expect(answer).toEqual({ epoch: 1, reports: true, step: expect.any(Number), seconds: expect.any(Number) });
    hang(podAt(before, VICTIM).worker);
    const after = await group.restarted(before.syncedEpoch + 1);
    const [record] = after.history;
    expect(record).toMatchObject({
      cause: { reason: "Hung", pod: podAt(before, VICTIM).name },
      action: "RestartInPlace",
      rule: "judge-hang",
      counted: true,
    });
    expect(after.restarts).toBe(1);
    expect(uids(after)).toEqual(uids(before));
    await training.steps(4);
    expect(reportsOf(await group.running())).toEqual(["", "", "", ""]);
    const events = await eventsOf("restarts");
    expect(events).toEqual([expect.stringContaining(`Pod ${podAt(before, VICTIM).name} stopped first`)]);
    expect(record?.step).toBeGreaterThan(0);
    await group.delete();
  });

  test("is judged within two seconds after the limit", async () => {
    const training = await Training.start("in-time", RESTART);
    const { group } = training;
    const before = await group.running();
    await training.steps(4);
    hang(podAt(before, VICTIM).worker);
    await sleep(HANG_AFTER_MS / 2);
    const stoppedAt = training.lastStepAt;
    const { history } = await group.reached("is judged", (state) => state.history.length > 0);
    const late = Date.parse(history[0]?.deprecated ?? "") - stoppedAt - HANG_AFTER_MS;
    process.stdout.write(`judged ${late} ms after the limit\n`);
    expect(late).toBeGreaterThanOrEqual(0);
    expect(late).toBeLessThan(VERDICT_MS);
    await group.delete();
  });

  test("is left alone in a long step, warned about a longer one, and never restarted", async () => {
    const training = await Training.start("warned", LIMIT);
    const { group } = training;
    const before = await group.running();
    await training.steps(4);
    for (const pauseMs of [1_500, HANG_AFTER_MS - 2_000]) {
      training.write("pause", "");
      await sleep(pauseMs);
      training.remove("pause");
      await training.steps(2);
      expect(reportsOf(await group.running())).toEqual(["", "", "", ""]);
    }
    training.write("pause", "");
    const warned = await group.reached("is said to hang", (state) => conditionOf(state)?.status === "True");
    expect(warned).toMatchObject({ restarts: 0, syncedEpoch: before.syncedEpoch, phase: "Running" });
    training.remove("pause");
    await group.reached("moves again", (state) => conditionOf(state)?.status === "False");
    await training.steps(2);
    const after = await group.running();
    expect(reportsOf(after)).toEqual(["", "", "", ""]);
    expect(after).toMatchObject({ history: [], syncedEpoch: before.syncedEpoch });
    expect(await eventsOf("warned")).toHaveLength(1);
    await group.delete();
  });

  test("is never judged if its workers never report", async () => {
    const training = await Training.start("quiet", RESTART, "sleep 1000000");
    const { group } = training;
    const before = await group.running();
    const silent = await group.reached("says so", (state) => reportsOf(state).every((report) => report !== ""));
    expect(reportsOf(silent).map((report) => report.split("/")[1])).toEqual(["0", "0", "0", "0"]);
    await sleep(3_000);
    expect(await group.running()).toMatchObject({ history: [], syncedEpoch: before.syncedEpoch });
    expect(await eventsOf("quiet")).toEqual([]);
    await group.delete();
  });

  test("restarts if none of its workers starts in time, and no Pod is blamed", async () => {
    const annotations = { ...RESTART, [ANNOTATION.startDeadline]: "5s" };
    const training = await Training.start("unstarted", annotations, "sleep 1000000");
    const { group } = training;
    const { history } = await group.reached("is restarted", (state) => state.history.length > 0);
    expect(history[0]).toMatchObject({ cause: { reason: "Hung", candidates: expect.any(Array) }, counted: true });
    await group.delete();
  });

  test("restarts when the user's own liveness probe fails", async () => {
    const sick = `${SHARED_MOUNT_PATH}/sick-$JOB_COMPLETION_INDEX`;
    const probe = { exec: { command: ["sh", "-c", `[ ! -e ${sick} ]`] }, periodSeconds: 1, failureThreshold: 1 };
    const folder = new SharedFolder(installation.cluster, "probed");
    // Only its first run is sick.
    const worker = { ...scripted(script(`rm -f ${sick}`, "while :; do sleep 0.3; done")), livenessProbe: probe };
    const podSpec = { workers: folder.podSpec(worker) };
    const group = await TrainingGroup.start(installation, "probed", { stages: { workers: 4 }, podSpec });
    const before = await group.running();
    folder.touch(`sick-${VICTIM}`);
    const after = await group.restarted(before.syncedEpoch + 1);
    expect(after).toMatchObject({ restarts: 1, history: [{ counted: true }] });
    expect(uids(after)).toEqual(uids(before));
    await group.delete();
  });

  // Side by side, so that a busy machine slows both.
  test("costs its agents at most 1 MiB of memory and a thousandth of a CPU", async () => {
    const groups = [await Training.start("costs", LIMIT), await Training.start("free", {}, TRAINS_UNSEEN)];
    const running = await Promise.all(groups.map(({ group }) => group.running()));
    const agents = running.map(({ pods }) => processesOf(...pods.map(({ agent }) => agent.id)).flat());
    await groups[0]?.steps(4);
    const before = agents.map((pids) => pids.map(cpuMs));
    const seconds = 15;
    await sleep(seconds * 1_000);
    const mean = (values: readonly number[]) => values.reduce((sum, each) => sum + each, 0) / values.length;
    const [withIt, without] = agents.map((pids, group) => ({
      own: mean(pids.map((pid) => memoryOf(pid).own)),
      cpu: mean(pids.map((pid, index) => cpuMs(pid) - (before[group]?.[index] ?? 0))) / seconds,
    }));
    if (withIt === undefined || without === undefined) throw new Error("there are two groups");
    const memory = withIt.own - without.own;
    const cpu = withIt.cpu - without.cpu;
    process.stdout.write(`an agent takes ${memory.toFixed(2)} MiB more, and ${cpu.toFixed(2)} thousandths of a CPU\n`);
    expect(memory).toBeLessThanOrEqual(1);
    expect(cpu).toBeLessThan(1);
    await Promise.all(groups.map(({ group }) => group.delete()));
  });

  // A server that speaks the protocol of NCCL's RAS service, in each worker. It was not run with NCCL and a GPU.
  test("restarts when NCCL's counts stop, and blames the Pod of the rank that lags", async () => {
    const annotations = { ...RESTART, [ANNOTATION.hangDetection]: "nccl-ras" };
    const training = await Training.start("nccl", annotations, SERVES_RAS);
    training.write("answer", rasAnswer([]));
    const { group } = training;
    const before = await group.running();
    const answerWith = (counts: readonly number[]) => {
      const ranks = before.pods.map(({ address: host }, rank) => ({ rank, host, count: counts[rank] ?? 0 }));
      training.write("answer", rasAnswer([{ hash: "0x1", ranks }]));
    };
    for (let count = 1; count <= 12; count += 1) {
      answerWith(RANKS.map(() => count));
      await sleep(500);
    }
    expect(reportsOf(await group.running())).toEqual(["", "", "", ""]);
    answerWith([14, 14, 13, 14]);
    const { history } = await group.reached("is judged", (state) => state.history.length > 0);
    expect(history[0]?.cause).toEqual({
      reason: "Hung",
      pod: podAt(before, VICTIM).name,
      since: expect.any(String),
      step: 13,
      rank: VICTIM,
    });
    await group.delete();
  });
});
