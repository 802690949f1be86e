// The agent's entry point: `reprise-agent` runs the agent, `reprise-agent probe` its startup probe in a Pod in which it
// has no port. The agent never exits with 0, which would restart it without its workers, and never because of the API
// server.
import type { HangReport } from "../src/api/hang-report.ts";
import { AGENT, AGENT_ENV } from "../src/api/names.ts";
import { reasonOf } from "../src/errors.ts";
import { GroupObject } from "./api/group-object.ts";
import { HttpClient } from "./api/http-client.ts";
import { Barrier, removeSocket } from "./barrier/barrier.ts";
import { askAtSocket } from "./barrier/probe.ts";
import { SavedRemoval } from "./barrier/saved-removal.ts";
import { type AgentConfig, type HangConfig, readConfig } from "./config.ts";
import type { Removal } from "./decide-removed.ts";
import { Follower } from "./follow.ts";
import { log } from "./log.ts";
import { ProgressMonitor, periodFor } from "./progress/monitor.ts";
import { askNccl, ncclPeriodFor } from "./progress/nccl.ts";
import { lookAtFile } from "./progress/progress-file.ts";
import { RemovalCheck } from "./removal-check.ts";
import { clearSharedMemory } from "./shared-memory/shared-memory.ts";

/**
 * The kubelet restarts a failed agent's Pod without delay. An agent that can never work waits before it exits, so that
 * it does not keep the node busy.
 */
const FATAL_EXIT_DELAY_MS = 10_000;

const SIGNAL_NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const;

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Installed first: a signal without a handler does not even end the first process of a container. */
function endOnSignals(): void {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      log.info("received a signal, exiting", { signal });
      void cleanUp().finally(() => process.exit(128 + SIGNAL_NUMBERS[signal]));
    });
  }
}

/** Runs before the process exits. */
let cleanUp = async (): Promise<void> => {};

/** Its output appears in the Events of the Pod, and only if it fails. */
async function runProbe(): Promise<void> {
  try {
    // The agent reports an invalid environment.
    await askAtSocket(process.env[AGENT_ENV.podUid] ?? "");
    process.exit(0);
  } catch (error) {
    console.error(reasonOf(error));
    process.exit(1);
  }
}

async function runAgent(): Promise<void> {
  // A bug in the agent must not end a running worker.
  process.on("uncaughtException", (error) => log.warn("unexpected error", { reason: reasonOf(error) }));
  let config: AgentConfig;
  try {
    config = readConfig(process.env);
  } catch (error) {
    log.warn(reasonOf(error));
    await sleep(FATAL_EXIT_DELAY_MS);
    process.exit(1);
  }
  const { namespace, podName, jobSetName, replicatedJob, protocol, podUid, barrierPort, credentialsFolder } = config;
  log.info("agent started", { namespace, pod: podName, jobSet: jobSetName, replicatedJob, protocol });
  const savedRemoval = new SavedRemoval(podUid, log);
  cleanUp = () => removeSocket(podUid);
  const group = new GroupObject(new HttpClient(config.server, credentialsFolder), config);
  const clocks = { now: () => performance.now(), random: Math.random };
  const monitor = config.hangs === undefined ? undefined : monitorFor(config, config.hangs, group);
  const barrier = new Barrier(log, () => monitor?.describe());
  const asked = {
    typeState: () => group.typeState(),
    save: (removal: Removal | undefined) => savedRemoval.save(removal),
    wallClock: () => Math.floor(Date.now() / 1000),
    ...clocks,
  };
  const removal = protocol === "epoch" ? new RemovalCheck(asked, log, await savedRemoval.read()) : undefined;
  // Before anything lifts the barrier. The previous agent may have left its socket.
  await removeSocket(podUid);
  const leftBytes = await clearSharedMemory(config.sharedMemory, podUid, log);
  const left = await monitor?.lookBefore();
  const lastStep = left?.kind === "seen" ? left.step : undefined;
  const effects = {
    watch: (resourceVersion: string | undefined, random: number) => group.watch(resourceVersion, random),
    publish: (epoch: number) => group.publish(epoch, leftBytes, lastStep),
    lift: (epoch: number | undefined) => {
      barrier.lift();
      if (epoch !== undefined) void monitor?.watch(epoch);
    },
    restart: (): never => process.exit(config.restartExitCode),
    ...(removal === undefined ? {} : { removal }),
    sleep,
    ...clocks,
  };
  void barrier.listen(barrierPort === undefined ? { podUid } : { port: barrierPort });
  await new Follower(config, effects, log).run();
}

function monitorFor(config: AgentConfig, hangs: HangConfig, group: GroupObject): ProgressMonitor {
  const { groupSize } = config;
  const { progressFile, podIps } = hangs;
  const effects = {
    look: () => (progressFile === undefined ? askNccl(podIps) : lookAtFile(progressFile)),
    report: (report: HangReport | undefined) => group.report(report),
    sleep,
    now: () => performance.now(),
    wallClock: () => Date.now(),
    random: Math.random,
  };
  const periodMs = progressFile === undefined ? ncclPeriodFor(hangs) : periodFor(hangs);
  const what = progressFile ?? "NCCL RAS";
  return new ProgressMonitor(effects, { limits: hangs, periodMs, groupSize, what }, log);
}

async function rejectCommand(command: string): Promise<never> {
  console.error(`unknown command ${JSON.stringify(command)}; use ${JSON.stringify(AGENT.probeCommand)} or none`);
  await sleep(FATAL_EXIT_DELAY_MS);
  process.exit(1);
}

// The exit code if the process ends in an unforeseen way; it must not be 0.
process.exitCode = 1;
endOnSignals();
const command = process.argv[2];
const ended = command === undefined ? runAgent() : command === AGENT.probeCommand ? runProbe() : rejectCommand(command);
ended.catch((error: unknown) => log.warn("unexpected error", { reason: reasonOf(error) }));
