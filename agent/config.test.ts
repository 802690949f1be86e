import { describe, expect, it } from "vitest";
import { readConfig } from "./config.ts";

const env = {
  NAMESPACE: "team",
  POD_NAME: "train-workers-0-1-abcde",
  POD_UID: "pod-uid",
  JOBSET_NAME: "train",
  JOBSET_UID: "jobset-uid",
  REPLICATED_JOB: "workers",
  RESTART_EXIT_CODE: "88",
  PROTOCOL: "epoch",
  GROUP_SIZE: "4",
  KUBERNETES_SERVICE_HOST: "10.0.0.1",
  KUBERNETES_SERVICE_PORT: "443",
};

describe("the agent's configuration", () => {
  it("comes from the environment that injection sets", () => {
    expect(readConfig(env)).toEqual({
      namespace: "team",
      podName: "train-workers-0-1-abcde",
      podUid: "pod-uid",
      jobSetName: "train",
      jobSetUid: "jobset-uid",
      replicatedJob: "workers",
      restartExitCode: 88,
      protocol: "epoch",
      groupSize: 4,
      server: { host: "10.0.0.1", port: 443 },
      credentialsFolder: "/var/run/secrets/reprise.dev/agent",
      sharedMemory: [],
    });
  });

  it("has a port for the startup probe, or none", () => {
    expect(readConfig({ ...env, BARRIER_PORT: "24670" }).barrierPort).toBe(24_670);
    expect(readConfig(env)).not.toHaveProperty("barrierPort");
  });

  it("names the folders of shared memory to clear", () => {
    const folders = readConfig({ ...env, SHARED_MEMORY: "/dev/shm:/var/run/reprise.dev/shm" }).sharedMemory;
    expect(folders).toEqual(["/dev/shm", "/var/run/reprise.dev/shm"]);
  });

  it.each<[Record<string, string | undefined>, string]>([
    [{ JOBSET_UID: undefined }, "JOBSET_UID is not set"],
    [{ REPLICATED_JOB: "" }, "REPLICATED_JOB is not set"],
    [{ RESTART_EXIT_CODE: "0" }, 'RESTART_EXIT_CODE must be a number from 1 to 255, found "0"'],
    [{ RESTART_EXIT_CODE: "256" }, 'RESTART_EXIT_CODE must be a number from 1 to 255, found "256"'],
    [{ KUBERNETES_SERVICE_PORT: "https" }, 'KUBERNETES_SERVICE_PORT must be a number from 1 to 65535, found "https"'],
    [{ BARRIER_PORT: "65536" }, 'BARRIER_PORT must be a number from 1 to 65535, found "65536"'],
    [{ GROUP_SIZE: undefined }, "GROUP_SIZE is not set"],
    [{ PROTOCOL: "raft" }, 'PROTOCOL must be "epoch" or "jobset", found "raft"'],
    [{ PROTOCOL: undefined }, 'PROTOCOL must be "epoch" or "jobset", found nothing'],
    [{ KUBERNETES_SERVICE_HOST: undefined }, "KUBERNETES_SERVICE_HOST is not set"],
  ])("is rejected with the problem: %o", (change, problem) => {
    expect(() => readConfig({ ...env, ...change })).toThrow(problem);
  });

  it("is rejected with every problem at once", () => {
    expect(() => readConfig({})).toThrow(
      /NAMESPACE is not set, .*PROTOCOL must be.*KUBERNETES_SERVICE_PORT is not set/,
    );
  });
});
