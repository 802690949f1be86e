// The agent's configuration, from the environment that injection sets on its container.
import { AGENT, AGENT_ENV, BARRIER_PORT_ENV, HANG_ENV, MAX_INT32, SHARED_MEMORY_ENV } from "../src/api/names.ts";
import type { Protocol } from "../src/api/protocol.ts";
import { RepriseError } from "../src/errors.ts";
import type { Identity } from "./decide.ts";
import type { HangLimits } from "./progress/decide-progress.ts";
import { wholeNumber } from "./whole-number.ts";

/** Directory of token and CA, for an agent outside a Pod. */
const CREDENTIALS_FOLDER = "CREDENTIALS_FOLDER";

export interface AgentConfig extends Identity {
  readonly namespace: string;
  readonly podName: string;
  readonly podUid: string;
  readonly jobSetName: string;
  readonly restartExitCode: number;
  readonly protocol: Protocol;
  /** The number of Pods of the group. */
  readonly groupSize: number;
  /** The port of the startup probe. Without one, the probe comes to a socket. */
  readonly barrierPort?: number;
  readonly server: { readonly host: string; readonly port: number };
  readonly credentialsFolder: string;
  /** Folders to clear before the workers start again. */
  readonly sharedMemory: readonly string[];
  /** Absent where no hangs are detected. */
  readonly hangs?: HangConfig;
}

export interface HangConfig extends HangLimits {
  /** Without one, NCCL is asked. */
  readonly progressFile?: string;
  readonly podIps: readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

export function readConfig(env: Environment): AgentConfig {
  const problems: string[] = [];
  const text = (name: string): string => {
    const value = env[name] ?? "";
    if (value === "") problems.push(`${name} is not set`);
    return value;
  };
  const number = (name: string, min: number, max: number): number => {
    const value = text(name);
    const number = wholeNumber(value) ?? Number.NaN;
    if (value !== "" && !(number >= min && number <= max)) {
      problems.push(`${name} must be a number from ${min} to ${max}, found ${JSON.stringify(value)}`);
    }
    return number;
  };
  const milliseconds = (name: string) => number(name, 1, MAX_WAIT_MS);
  const learned = env[HANG_ENV.hangAfter] === "learned";
  const deadline = env[HANG_ENV.startDeadline];
  const progressFile = env[HANG_ENV.progressFile];
  const hangs: HangConfig | undefined =
    env[HANG_ENV.hangAfter] === undefined
      ? undefined
      : {
          hangAfter: learned ? "learned" : milliseconds(HANG_ENV.hangAfter),
          ...(deadline === undefined ? {} : { startDeadline: milliseconds(HANG_ENV.startDeadline) }),
          ...(progressFile === undefined ? {} : { progressFile }),
          podIps: listIn(env[HANG_ENV.podIps], ","),
        };
  const barrierPort = env[BARRIER_PORT_ENV] === undefined ? {} : { barrierPort: number(BARRIER_PORT_ENV, 1, 65_535) };
  const config: AgentConfig = {
    namespace: text(AGENT_ENV.namespace),
    podName: text(AGENT_ENV.podName),
    podUid: text(AGENT_ENV.podUid),
    jobSetName: text(AGENT_ENV.jobSetName),
    jobSetUid: text(AGENT_ENV.jobSetUid),
    replicatedJob: text(AGENT_ENV.replicatedJob),
    // Exit code 0 would restart only the agent, not its workers.
    restartExitCode: number(AGENT_ENV.restartExitCode, 1, 255),
    protocol: readProtocol(env[AGENT_ENV.protocol], problems),
    groupSize: number(AGENT_ENV.groupSize, 1, MAX_INT32),
    ...barrierPort,
    // The kubelet sets these in every container.
    server: { host: text("KUBERNETES_SERVICE_HOST"), port: number("KUBERNETES_SERVICE_PORT", 1, 65_535) },
    credentialsFolder: env[CREDENTIALS_FOLDER] ?? AGENT.tokenMountPath,
    sharedMemory: listIn(env[SHARED_MEMORY_ENV], ":"),
    ...(hangs === undefined ? {} : { hangs }),
  };
  if (problems.length > 0) throw new RepriseError("AGENT_ENVIRONMENT_INVALID", { problems });
  return config;
}

/** A year. */
const MAX_WAIT_MS = 31_536_000_000;

function listIn(text: string | undefined, separator: string): readonly string[] {
  return (text ?? "").split(separator).filter((item) => item !== "");
}

function readProtocol(value: string | undefined, problems: string[]): Protocol {
  if (value === "epoch" || value === "jobset") return value;
  const found = value === undefined ? "nothing" : JSON.stringify(value);
  problems.push(`${AGENT_ENV.protocol} must be "epoch" or "jobset", found ${found}`);
  return "epoch";
}
