// The agent's entry point: `reprise-agent` runs the agent, `reprise-agent gate` the gate in front of the workers. The
// agent never exits with 0, which would restart it without its workers, and never because of the API server once they
// run.
import { file, write } from "bun";
import { AGENT, AGENT_ENV } from "../src/api/names.ts";
import { reasonOf } from "../src/errors.ts";
import { GroupObject } from "./api/group-object.ts";
import { HttpClient } from "./api/http-client.ts";
import { Barrier, removeSocket } from "./barrier/barrier.ts";
import { waitAtGate } from "./barrier/gate.ts";
import { SavedEpoch, savedUntilLifted } from "./barrier/saved-epoch.ts";
import { SavedRemoval } from "./barrier/saved-removal.ts";
import { Watchdog } from "./barrier/watchdog.ts";
import { type AgentConfig, readConfig } from "./config.ts";
import type { Removal } from "./decide-removed.ts";
import { Follower } from "./follow.ts";
import { log } from "./log.ts";
import { RemovalCheck } from "./removal-check.ts";
import { clearSharedMemory } from "./shared-memory/shared-memory.ts";

/**
 * The kubelet restarts a failed agent's Pod without delay. An agent that can never work waits before it exits, so that
 * it does not keep the node busy.
 */
const FATAL_EXIT_DELAY_MS = 10_000;

/** The container's termination message, which the kubelet copies into the Pod's status. */
const TERMINATION_LOG = "/dev/termination-log";

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

/** Runs before the process exits. The saved epoch stays: a signal may be the start of a restart in place. */
let cleanUp = async (): Promise<void> => {};

/** Its output only appears in the kubelet's log, and only if it fails. */
async function runGate(): Promise<void> {
  try {
    // The agent reports an invalid environment.
    await waitAtGate(process.env[AGENT_ENV.podUid] ?? "");
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
  const startedAt = Date.now();
  const { namespace, podName, jobSetName, replicatedJob, protocol, podUid, credentialsFolder } = config;
  log.info("agent started", { namespace, pod: podName, jobSet: jobSetName, replicatedJob, protocol });
  const restart = (): never => process.exit(config.restartExitCode);
  const savedEpoch = new SavedEpoch(podUid, log);
  const savedRemoval = new SavedRemoval(podUid, log);
  cleanUp = () => removeSocket(podUid);
  const leave = async (reason: string, epoch: "keep epoch" | "drop epoch") => {
    const lastError = follower.lastError || watchdog.lastError;
    const apiServer = lastError === "" ? {} : { apiServer: lastError };
    log.info("leaving the barrier, restarting the Pod in place", { reason, ...apiServer });
    await writeTerminationMessage(lastError === "" ? reason : `${reason}; API server: ${lastError}`);
    await cleanUp();
    if (epoch === "drop epoch")
      await savedEpoch.remove().catch((error: unknown) => {
        log.warn("cannot remove the saved epoch", { reason: reasonOf(error) });
      });
    restart();
  };
  const barrier = new Barrier({
    // Without a gate a worker may have run, so the next agent must not resume this epoch.
    onGateLost: (how) =>
      void (how === "ended"
        ? leave("the gate ended before the barrier lifted", "keep epoch")
        : leave("the gate never connected", "drop epoch")),
    log,
  });
  const group = new GroupObject(new HttpClient(config.server, credentialsFolder), config);
  const clocks = { now: () => performance.now(), random: Math.random };
  const asked = {
    typeState: () => group.typeState(),
    save: (removal: Removal | undefined) => savedRemoval.save(removal),
    wallClock: () => Math.floor(Date.now() / 1000),
    ...clocks,
  };
  const removal = protocol === "epoch" ? new RemovalCheck(asked, log, await savedRemoval.read()) : undefined;
  const effects = {
    read: () => group.read(),
    watch: (resourceVersion: string | undefined, random: number) => group.watch(resourceVersion, random),
    ...savedUntilLifted(
      { publish: (epoch) => group.publish(epoch, leftBytes), lift: () => barrier.lift() },
      savedEpoch,
    ),
    ownPod: () => group.ownPod(),
    hasLostGroup: () => follower.hasLostGroup,
    groupGone: () => follower.groupGone(),
    restart,
    // Here too a worker may have run; or the Pod is gone, and must leave nothing on its node.
    giveUp: (reason: string) => leave(reason, "drop epoch"),
    ...(removal === undefined ? {} : { removal }),
    sleep,
    ...clocks,
  };
  // Before anything lifts the barrier. The previous agent may have left its socket.
  await removeSocket(podUid);
  const leftBytes = await clearSharedMemory(config.sharedMemory, podUid, log);
  const follower = new Follower(config, effects, log, await savedEpoch.read());
  const watchdog = new Watchdog(barrier, startedAt, effects);
  void barrier.listen(podUid);
  void watchdog.run();
  await follower.run();
}

/**
 * The reason goes into the Pod's status, because the container's log is not readable until the kubelet has reported it.
 */
async function writeTerminationMessage(message: string): Promise<void> {
  try {
    if (await file(TERMINATION_LOG).exists()) await write(TERMINATION_LOG, message);
  } catch {}
}

async function rejectCommand(command: string): Promise<never> {
  console.error(`unknown command ${JSON.stringify(command)}; use ${JSON.stringify(AGENT.gateCommand)} or none`);
  await sleep(FATAL_EXIT_DELAY_MS);
  process.exit(1);
}

// The exit code if the process ends in an unforeseen way; it must not be 0.
process.exitCode = 1;
endOnSignals();
const command = process.argv[2];
const ended = command === undefined ? runAgent() : command === AGENT.gateCommand ? runGate() : rejectCommand(command);
ended.catch((error: unknown) => log.warn("unexpected error", { reason: reasonOf(error) }));
