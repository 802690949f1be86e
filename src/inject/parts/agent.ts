// The agent container: the first initContainer of every Pod, a native sidecar. Its postStart hook, the gate, ends when the barrier
// lifts, and the kubelet starts nothing else before. Pure.
import type { Finding } from "../../api/admission.ts";
import { isAgentContainer } from "../../api/agent-container.ts";
import { AGENT, AGENT_ENV, JOBSET } from "../../api/names.ts";
import type { Protocol } from "../../api/protocol.ts";
import { isObject, listAt, named, withList } from "../../json/edit.ts";
import { equivalent } from "../../json/equivalent.ts";
import type { Json, JsonObject } from "../../json/types.ts";
import { agentRestartRule } from "../../policy/compile.ts";
import type { Inputs } from "../inputs.ts";
import type { InjectionSettings } from "../settings.ts";
import { isOurName } from "./own-containers.ts";
import { type AgentShare, agentResources, agentShare } from "./resources.ts";
import { agentSecurityContext, isConfined, runsAsRoot } from "./security.ts";
import { podPath, type Template } from "./template.ts";
import { tokenMount } from "./token.ts";

export interface AgentContext {
  readonly settings: InjectionSettings;
  readonly inputs: Inputs;
  readonly protocol: Protocol;
}

/** What of a Pod the agent depends on; Pods with the same facts get the same agent. */
export interface AgentFacts {
  readonly asRoot: boolean;
  readonly confined: boolean;
  readonly share: AgentShare;
}

export function agentFacts({ podSpec }: Template, workers: readonly JsonObject[], inputs: Inputs): AgentFacts {
  return {
    asRoot: runsAsRoot(podSpec, workers),
    confined: isConfined(podSpec),
    share: agentShare(podSpec, inputs.agentCpu !== undefined || inputs.agentMemory !== undefined),
  };
}

export function buildAgent(facts: AgentFacts, { settings, inputs, protocol }: AgentContext): JsonObject {
  const { asRoot, confined, share } = facts;
  const resources = agentResources(share, settings.agentResources, inputs);
  return {
    name: AGENT.container,
    image: settings.agentImage,
    imagePullPolicy: settings.agentPullPolicy,
    command: [AGENT.binary],
    env: environment(settings, protocol),
    ...(resources === undefined ? {} : { resources }),
    restartPolicy: "Always",
    restartPolicyRules: [agentRestartRule()],
    lifecycle: { postStart: { exec: { command: [AGENT.binary, AGENT.gateCommand] } } },
    securityContext: agentSecurityContext(asRoot, confined),
    volumeMounts: [tokenMount()],
  };
}

/**
 * Names and UIDs come from the Pod itself: the JobSet has no UID while it is admitted, and perhaps no name (generateName).
 * JobSet labels every Pod with them.
 */
function environment(settings: InjectionSettings, protocol: Protocol): JsonObject[] {
  return [
    fromPod(AGENT_ENV.namespace, "metadata.namespace"),
    fromPod(AGENT_ENV.podName, "metadata.name"),
    fromPod(AGENT_ENV.podUid, "metadata.uid"),
    fromPod(AGENT_ENV.jobSetName, `metadata.labels['${JOBSET.nameKey}']`),
    fromPod(AGENT_ENV.jobSetUid, `metadata.labels['${JOBSET.uidKey}']`),
    fromPod(AGENT_ENV.replicatedJob, `metadata.labels['${JOBSET.replicatedJobKey}']`),
    { name: AGENT_ENV.restartExitCode, value: String(settings.restartExitCode) },
    { name: AGENT_ENV.protocol, value: protocol },
  ];
}

/** An environment variable that the kubelet fills in from the Pod, anew at every start of the container. */
export function fromPod(name: string, fieldPath: string): JsonObject {
  return { name, valueFrom: { fieldRef: { fieldPath } } };
}

/** Fields that are ours alone: where a new agent has none, an earlier one's goes too. */
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
 * A new agent in place of the one that an earlier call, or the original of a copied JobSet, left. What other webhooks add
 * to every container (variables, mounts, fields unknown to us) stays: they would add it again, and we would fight.
 */
export function rebuildAgent(present: JsonObject | undefined, built: JsonObject): JsonObject {
  if (present === undefined) return built;
  const foreign = Object.entries(present).filter(([key]) => !OWN_FIELDS.has(key) && !Object.hasOwn(built, key));
  let agent: JsonObject = foreign.length === 0 ? built : { ...built, ...Object.fromEntries(foreign) };
  for (const key of ["env", "volumeMounts"]) {
    const missing = new Map(listAt(built, key).map((item) => [nameOf(item), item]));
    const ourNames = new Set(missing.keys());
    // In the order in which they are there, so that an agent which is as it should be stays as it is; ours once each,
    // because of two variables with one name the last would win.
    const kept = listAt(present, key).flatMap((item): Json[] => {
      const name = nameOf(item);
      if (!ourNames.has(name)) return [item];
      const own = missing.get(name);
      missing.delete(name);
      return own === undefined ? [] : [own];
    });
    agent = withList(agent, key, () => [...kept, ...missing.values()]);
  }
  return equivalent(agent, present) ? present : agent;
}

function nameOf(item: Json): Json | undefined {
  return isObject(item) ? item["name"] : undefined;
}

/** The agent of a Pod, if it has one of ours. */
export function findAgent(podSpec: JsonObject): JsonObject | undefined {
  return listAt(podSpec, "initContainers").filter(isObject).find(isAgentContainer);
}

/** First, so that the barrier holds back everything else in the Pod, also what other webhooks put in front of it. */
export function withAgentFirst(podSpec: JsonObject, agent: JsonObject): JsonObject {
  return withList(podSpec, "initContainers", (list) => {
    const others = list.filter((item) => !isObject(item) || !isOurName(item["name"]));
    const isInPlace = others.length === list.length - 1 && equivalent(list[0], agent);
    return isInPlace ? list : [agent, ...others];
  });
}

export function checkAgentName(podSpec: JsonObject, index: number): Finding | undefined {
  const taken = (["containers", "initContainers"] as const).find((key) => {
    const holder = named(listAt(podSpec, key), AGENT.container);
    return holder !== undefined && !(key === "initContainers" && isAgentContainer(holder));
  });
  if (taken === undefined) return undefined;
  return {
    rule: "agent-name",
    path: `${podPath(index)}.${taken}`,
    message: `"${AGENT.container}" is the name of the agent that is injected; rename your container`,
  };
}
