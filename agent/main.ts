// The agent's process: `reprise-agent` runs the agent, `reprise-agent probe` asks it whether the barrier has lifted.
// It never exits with 0, which would restart it without its workers, and never because of the API server.
import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { AGENT_ENV } from "../src/api/names.ts";
import { reasonOf } from "../src/errors.ts";
import { askBarrier, Barrier, socketOf } from "./barrier.ts";
import { type AgentConfig, readConfig } from "./config.ts";
import { Connection } from "./connection.ts";
import { Follower } from "./follow.ts";
import { GroupObject } from "./group-object.ts";
import { log } from "./log.ts";

/**
 * The kubelet restarts a Pod whose agent failed without any delay. An agent that can never work waits before it fails,
 * so that its Pod does not keep the node busy.
 */
const HOPELESS_MS = 10_000;

async function probe(): Promise<void> {
  try {
    await askBarrier(process.env[AGENT_ENV.podUid] ?? "");
    process.exit(0);
  } catch (error) {
    process.stderr.write(`the barrier is down: ${reasonOf(error).replace("\0", "@")}\n`);
    process.exit(1);
  }
}

async function run(): Promise<void> {
  // First of all: as the first process of a container, the agent would not even be ended by a signal without a handler.
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      log.info("ended by a signal", { signal });
      process.exit(128 + constants.signals[signal]);
    });
  }
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
  const { namespace, podName, jobSetName, replicatedJob, protocol, port, podUid } = config;
  log.info("agent started", { namespace, pod: podName, jobSet: jobSetName, replicatedJob, protocol });
  const barrier = new Barrier(log);
  await barrier.listen(port === undefined ? socketOf(podUid) : { port });
  const group = new GroupObject(new Connection(config.server, config.credentialsFolder), config);
  const effects = {
    read: () => group.read(),
    watch: (resourceVersion: string | undefined, random: number) => group.watch(resourceVersion, random),
    publish: (epoch: number) => group.publish(epoch),
    lift: () => barrier.lift(),
    restart: (): never => process.exit(config.restartExitCode),
    sleep: (ms: number) => sleep(ms),
    now: () => performance.now(),
    random: Math.random,
  };
  await new Follower(config, effects, log).run();
}

const ended = process.argv[2] === "probe" ? probe() : run();
ended.catch((error: unknown) => log.warn("unexpected error", { reason: reasonOf(error) }));
