// Faults that end the processes of a Pod: its worker, its agent, or both.
import { always, type FaultDefinition, never, victim } from "./fault.ts";

export const killWorker: FaultDefinition = {
  text: "a worker exits with code 1",
  byRequest: false,
  mayCount: always,
  strike: (cluster) => victim(cluster, ({ hasWorker }) => hasWorker)?.endWorker(1),
};

export const killAgent: FaultDefinition = {
  text: "an agent is killed",
  byRequest: false,
  mayCount: always,
  strike: (cluster) => victim(cluster, () => true)?.killAgent(),
};

export const killBoth: FaultDefinition = {
  text: "a worker exits and its agent is killed",
  byRequest: false,
  mayCount: always,
  strike(cluster) {
    const pod = victim(cluster, ({ hasWorker }) => hasWorker);
    pod?.endWorker(137);
    pod?.killAgent();
  },
};

/** An exit code that fails the JobSet, where its shape says so. */
export const FINAL_CODE = 42;

export const exitFinally: FaultDefinition = {
  text: `a worker exits with code ${FINAL_CODE}`,
  byRequest: false,
  mayCount: always,
  strike: (cluster) => victim(cluster, ({ hasWorker }) => hasWorker)?.endWorker(FINAL_CODE),
};

export const finishWorker: FaultDefinition = {
  text: "a worker exits with code 0",
  byRequest: false,
  mayCount: never,
  strike: (cluster) => victim(cluster, ({ hasWorker }) => hasWorker)?.endWorker(0),
};
