// The agent's process: `reprise-agent` runs the agent, `reprise-agent gate` the gate in front of the workers.
// It never exits with 0, which would restart it without its workers, and once its workers run never because of the API server.
import { file, write } from "bun";
import { AGENT, AGENT_ENV } from "../src/api/names.ts";
import { reasonOf } from "../src/errors.ts";
import { Connection } from "./api/connection.ts";
import { GroupObject } from "./api/group-object.ts";
import { Barrier, removeSocket } from "./barrier/barrier.ts";
import { waitAtGate } from "./barrier/gate.ts";
import { Hold } from "./barrier/hold.ts";
import { KeptEpoch, keptBetween } from "./barrier/kept-epoch.ts";
import { type AgentConfig, readConfig } from "./config.ts";
import { Follower } from "./follow.ts";
import { log } from "./log.ts";

/**
 * The kubelet restarts a Pod whose agent failed without any delay. An agent that can never work waits before it fails,
 * so that its Pod does not keep the node busy.
 */
const HOPELESS_MS = 10_000;

/** Where the kubelet looks for a container's last words. */
const TERMINATION_LOG = "/dev/termination-log";

const SIGNAL_NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const;

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** First of all: as the first process of a container, it would not even be ended by a signal without a handler. */
function endOnSignals(): void {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      log.info("ended by a signal", { signal });
      void tidyUp().finally(() => process.exit(128 + SIGNAL_NUMBERS[signal]));
    });
  }
}

/** What an agent does before it ends. The epoch that it keeps stays: a signal may be the beginning of a restart in place. */
let tidyUp = async (): Promise<void> => {};

/** What it says is in the kubelet's log alone, and only if it fails. */
async function runGate(): Promise<void> {
  try {
    // If anything is wrong with the environment, the agent says so.
    await waitAtGate(process.env[AGENT_ENV.podUid] ?? "");
    process.exit(0);
  } catch (error) {
    console.error(reasonOf(error));
    process.exit(1);
  }
}

async function runAgent(): Promise<void> {
  // A mistake in the agent must not cost a running worker either.
  process.on("uncaughtException", (error) => log.warn("unexpected error", { reason: reasonOf(error) }));
  let config: AgentConfig;
  try {
    config = readConfig(process.env);
  } catch (error) {
    log.warn(reasonOf(error));
    await sleep(HOPELESS_MS);
    process.exit(1);
  }
  const startedAt = Date.now();
  const { namespace, podName, jobSetName, replicatedJob, protocol, podUid, credentialsFolder } = config;
  log.info("agent started", { namespace, pod: podName, jobSet: jobSetName, replicatedJob, protocol });
  const restart = (): never => process.exit(config.restartExitCode);
  const kept = new KeptEpoch(podUid, log);
  tidyUp = () => removeSocket(podUid);
  const leave = async (reason: string, epoch: "keep" | "forget") => {
    const trouble = follower.trouble || hold.trouble;
    log.info("leaving the barrier, restarting the Pod in place", { reason, ...(trouble === "" ? {} : { trouble }) });
    await sayInStatus(trouble === "" ? reason : `${reason}; API server: ${trouble}`);
    await tidyUp();
    if (epoch === "forget")
      await kept.forget().catch((error: unknown) => log.warn("cannot forget the epoch", { reason: reasonOf(error) }));
    restart();
  };
  const barrier = new Barrier({
    // A worker that had no gate to wait for may have run: the next agent must not go on with its epoch.
    onGateLost: (how) =>
      void (how === "ended"
        ? leave("its gate ended before the barrier lifted", "keep")
        : leave("its gate never came", "forget")),
    log,
  });
  const group = new GroupObject(new Connection(config.server, credentialsFolder), config);
  const effects = {
    read: () => group.read(),
    watch: (resourceVersion: string | undefined, random: number) => group.watch(resourceVersion, random),
    ...keptBetween({ publish: (epoch) => group.publish(epoch), lift: () => barrier.lift() }, kept),
    ownPod: () => group.ownPod(),
    hasLostGroup: () => follower.hasLostGroup,
    groupGone: () => follower.groupGone(),
    restart,
    // Here, too, a worker may have run; or the Pod is gone, and nothing of it must stay on its node.
    giveUp: (reason: string) => leave(reason, "forget"),
    sleep,
    now: () => performance.now(),
    random: Math.random,
  };
  const follower = new Follower(config, effects, log, await kept.read());
  const hold = new Hold(barrier, startedAt, effects);
  void barrier.listen(podUid);
  void hold.run();
  await follower.run();
}

/** In the status of the Pod: until the kubelet has reported a container, nobody can read its log. */
async function sayInStatus(lastWords: string): Promise<void> {
  try {
    if (await file(TERMINATION_LOG).exists()) await write(TERMINATION_LOG, lastWords);
  } catch {}
}

async function refuse(command: string): Promise<never> {
  console.error(
    `unknown command ${JSON.stringify(command)}; leave it out, or use ${JSON.stringify(AGENT.gateCommand)}`,
  );
  await sleep(HOPELESS_MS);
  process.exit(1);
}

// For an end that nobody has thought of: a process with nothing left to wait for ends with this, and not with 0.
process.exitCode = 1;
endOnSignals();
const command = process.argv[2];
const ended = command === undefined ? runAgent() : command === AGENT.gateCommand ? runGate() : refuse(command);
ended.catch((error: unknown) => log.warn("unexpected error", { reason: reasonOf(error) }));
