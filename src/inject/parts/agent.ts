// The agent container: the first initContainer of every Pod, a native sidecar. Its startup probe succeeds when the
// barrier lifts. Until then the kubelet starts no other container. Pure.
import { isAgentContainer } from "../../api/agent-container.ts";
import { AGENT, AGENT_ENV, BARRIER_PORT_ENV, JOBSET } from "../../api/names.ts";
import type { Protocol } from "../../api/protocol.ts";
import { isObject, listAt, named, withList } from "../../json/edit.ts";
import { equivalent } from "../../json/equivalent.ts";
import type { Json, JsonObject } from "../../json/types.ts";
import { agentRestartRule } from "../../policy/compile.ts";
import type { Inputs } from "../inputs.ts";
import type { InjectionSettings } from "../settings.ts";
import { agentImage } from "./agent-image.ts";
import { barrierPort, barrierPortEnv, startupProbe } from "./barrier-probe.ts";
import { isProgressPart, progressEnv, progressMount, progressSource } from "./progress.ts";
import { type AgentShare, agentAmounts, agentResources, agentShare } from "./resources.ts";
import { type AgentUser, agentSecurityContext, agentUser, isConfined } from "./security.ts";
import {
  isSharedMemoryPart,
  type SharedMemory,
  sharedMemoryEnv,
  sharedMemoryMount,
  sharedMemoryOf,
} from "./shared-memory.ts";
import { podPath, type Template } from "./template.ts";
import { tokenMount } from "./token.ts";
import type { Unsupported } from "./unsupported.ts";
import { isAgentName } from "./user-containers.ts";

export interface AgentContext {
  readonly settings: InjectionSettings;
  readonly inputs: Inputs;
  readonly protocol: Protocol;
}

/** What the agents of all replicatedJobs have in common. */
interface GroupContext extends AgentContext {
  readonly groupSize: number;
}

/** The properties of a Pod that its agent depends on. Pods with the same facts get the same agent. */
interface AgentFacts {
  readonly user: AgentUser;
  readonly memory: SharedMemory;
  readonly progress: ReturnType<typeof progressSource>;
  readonly confined: boolean;
  readonly share: AgentShare;
  readonly amounts: ReturnType<typeof agentAmounts>;
  /** Undefined where another program may use the port. */
  readonly port: number | undefined;
}

export function agentFacts(
  { podSpec }: Template,
  workers: readonly JsonObject[],
  { inputs, settings, protocol }: AgentContext,
): AgentFacts {
  const chosen = inputs.agentCpu !== undefined || inputs.agentMemory !== undefined;
  const memory = sharedMemoryOf(podSpec, workers, inputs.keepsSharedMemory);
  return {
    user: agentUser(podSpec, workers, memory),
    memory,
    // With JobSet's own protocol no controller of ours judges the group.
    progress: progressSource(workers, protocol === "epoch" ? inputs.hangs : undefined),
    confined: isConfined(podSpec),
    share: agentShare(podSpec, chosen, settings.agentResources),
    amounts: agentAmounts(podSpec, chosen),
    port: barrierPort(podSpec, settings.agentPort),
  };
}

export function buildAgent(facts: AgentFacts, context: GroupContext): JsonObject {
  const { settings, inputs } = context;
  const { user, memory, progress, confined, share, amounts, port } = facts;
  const resources = agentResources(share, amounts, settings.agentResources, inputs);
  return {
    name: AGENT.container,
    ...agentImage(settings),
    command: [AGENT.binary],
    env: [
      ...environment(context),
      ...barrierPortEnv(port),
      ...sharedMemoryEnv(memory),
      ...progressEnv(progress, inputs.hangs),
    ],
    ...(resources === undefined ? {} : { resources }),
    restartPolicy: "Always",
    restartPolicyRules: [agentRestartRule()],
    securityContext: agentSecurityContext(user, confined),
    startupProbe: startupProbe(port),
    volumeMounts: [tokenMount(), ...sharedMemoryMount(memory), ...progressMount(progress)],
  };
}

/**
 * Names and UIDs come from the Pod: during admission the JobSet has no UID, and with generateName no name either.
 * JobSet labels every Pod with both.
 */
function environment({ settings, protocol, groupSize }: GroupContext): JsonObject[] {
  return [
    fromPod(AGENT_ENV.namespace, "metadata.namespace"),
    fromPod(AGENT_ENV.podName, "metadata.name"),
    fromPod(AGENT_ENV.podUid, "metadata.uid"),
    fromPod(AGENT_ENV.jobSetName, `metadata.labels['${JOBSET.nameKey}']`),
    fromPod(AGENT_ENV.jobSetUid, `metadata.labels['${JOBSET.uidKey}']`),
    fromPod(AGENT_ENV.replicatedJob, `metadata.labels['${JOBSET.replicatedJobKey}']`),
    { name: AGENT_ENV.restartExitCode, value: String(settings.restartExitCode) },
    { name: AGENT_ENV.protocol, value: protocol },
    { name: AGENT_ENV.groupSize, value: String(groupSize) },
  ];
}

/** An environment variable that the kubelet sets from the Pod at every start of the container. */
function fromPod(name: string, fieldPath: string): JsonObject {
  return { name, valueFrom: { fieldRef: { fieldPath } } };
}

/** Fields that only injection sets. If the new agent has none, the value of an earlier agent is dropped. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  "name",
  "image",
  "imagePullPolicy",
  "command",
  "args",
  "ports",
  "resources",
  "restartPolicy",
  "restartPolicyRules",
  "securityContext",
  "startupProbe",
  "livenessProbe",
  "readinessProbe",
  "lifecycle",
]);

/**
 * Replaces the agent of an earlier call, or of the JobSet that this one was copied from. What other webhooks added to
 * it (variables, mounts, unknown fields) stays: they would add it again, and the two webhooks would never agree.
 */
export function rebuildAgent(present: JsonObject | undefined, built: JsonObject): JsonObject {
  if (present === undefined) return built;
  const foreign = Object.entries(present).filter(([key]) => !OWN_FIELDS.has(key) && !Object.hasOwn(built, key));
  let agent: JsonObject = foreign.length === 0 ? built : { ...built, ...Object.fromEntries(foreign) };
  for (const key of ["env", "volumeMounts"]) {
    const missing = new Map(listAt(built, key).map((item) => [nameOf(item), item]));
    const ourNames = new Set(missing.keys());
    // Keeps the existing order, so that a correct agent does not change. Ours appear once: of two variables with the
    // same name the last one wins.
    const kept = listAt(present, key).flatMap((item): Json[] => {
      const name = nameOf(item);
      if (!ourNames.has(name)) return isObject(item) && isOwnPart(item) ? [] : [item];
      const own = missing.get(name);
      missing.delete(name);
      return own === undefined ? [] : [own];
    });
    agent = withList(agent, key, () => [...kept, ...missing.values()]);
  }
  return equivalent(agent, present) ? present : agent;
}

/** Parts that only some agents have. */
function isOwnPart(item: JsonObject): boolean {
  return isSharedMemoryPart(item) || isProgressPart(item) || item["name"] === BARRIER_PORT_ENV;
}

function nameOf(item: Json): Json | undefined {
  return isObject(item) ? item["name"] : undefined;
}

/** The injected agent of a Pod, if there is one. */
export function findAgent(podSpec: JsonObject): JsonObject | undefined {
  return listAt(podSpec, "initContainers").filter(isObject).find(isAgentContainer);
}

/** First, so that the barrier holds back every other container, including those that other webhooks prepend. */
export function withAgentFirst(podSpec: JsonObject, agent: JsonObject): JsonObject {
  return withList(podSpec, "initContainers", (list) => {
    const others = list.filter((item) => !isObject(item) || !isAgentName(item["name"]));
    const isInPlace = others.length === list.length - 1 && equivalent(list[0], agent);
    return isInPlace ? list : [agent, ...others];
  });
}

export function checkAgentName(podSpec: JsonObject, index: number): Unsupported | undefined {
  const taken = (["containers", "initContainers"] as const).find((key) => {
    const holder = named(listAt(podSpec, key), AGENT.container);
    return holder !== undefined && !(key === "initContainers" && isAgentContainer(holder));
  });
  if (taken === undefined) return undefined;
  return {
    rule: "agent-name",
    path: `${podPath(index)}.${taken}`,
    problem: `"${AGENT.container}" is reserved for the injected agent`,
    fix: "rename your container",
  };
}
