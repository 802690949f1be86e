// What a hollow kubelet needs of a Pod's spec, with the agent's environment as a kubelet would set it. Pure.
import { JOBSET } from "../../src/api/names.ts";
import { asList, asMap, asText, asTextMap } from "../../src/json/fields.ts";

export interface PodShape {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly jobSet: string;
  readonly serviceAccount: string;
  /** The agent: on both sides the first init container. */
  readonly agent: string;
  readonly agentEnv: Readonly<Record<string, string>>;
  /** With a startup probe the kubelet reports a Pod that waits at its barrier; with a hook it does not. */
  readonly hasStartupProbe: boolean;
  readonly workers: readonly string[];
}

export function shapeOf(raw: unknown): PodShape {
  const { metadata, spec } = asMap(raw);
  const { name, namespace, uid, labels } = asMap(metadata);
  const { initContainers, containers, serviceAccountName } = asMap(spec);
  const agent = asMap(asList(initContainers)[0]);
  return {
    name: asText(name) ?? "",
    namespace: asText(namespace) ?? "",
    uid: asText(uid) ?? "",
    jobSet: asTextMap(labels)[JOBSET.nameKey] ?? "",
    serviceAccount: asText(serviceAccountName) ?? "default",
    agent: asText(agent["name"]) ?? "",
    agentEnv: environment(agent["env"], asMap(metadata)),
    hasStartupProbe: agent["startupProbe"] !== undefined,
    workers: asList(containers).map((container) => asText(asMap(container)["name"]) ?? ""),
  };
}

function environment(env: unknown, metadata: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    asList(env)
      .map(asMap)
      .map(({ name, value, valueFrom }) => {
        const path = asText(asMap(asMap(valueFrom)["fieldRef"])["fieldPath"]);
        return [asText(name) ?? "", path === undefined ? (asText(value) ?? "") : fieldAt(path, metadata)];
      }),
  );
}

/** Such as metadata.name or metadata.labels['key']. */
function fieldAt(path: string, metadata: Readonly<Record<string, unknown>>): string {
  const [, field = "", key] = /^metadata\.(\w+)(?:\['(.+)'\])?$/.exec(path) ?? [];
  return (key === undefined ? asText(metadata[field]) : asTextMap(metadata[field])[key]) ?? "";
}
