// The environment of an agent as injection sets it, for tests and benchmarks that start agents themselves.
import { AGENT_ENV } from "../../src/api/names.ts";
import type { Protocol } from "../../src/api/protocol.ts";

interface AgentOf {
  readonly podName: string;
  readonly podUid: string;
  readonly jobSetName: string;
  readonly jobSetUid: string;
  readonly protocol: Protocol;
}

/** The default of `injection.restartExitCode`. */
export const RESTART_EXIT_CODE = 88;

export function agentEnv({ podName, podUid, jobSetName, jobSetUid, protocol }: AgentOf): Record<string, string> {
  return {
    [AGENT_ENV.namespace]: "default",
    [AGENT_ENV.podName]: podName,
    [AGENT_ENV.podUid]: podUid,
    [AGENT_ENV.jobSetName]: jobSetName,
    [AGENT_ENV.jobSetUid]: jobSetUid,
    [AGENT_ENV.replicatedJob]: "workers",
    [AGENT_ENV.restartExitCode]: String(RESTART_EXIT_CODE),
    [AGENT_ENV.protocol]: protocol,
    [AGENT_ENV.groupSize]: "2",
  };
}
