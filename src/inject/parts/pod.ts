// The Pod template around the containers: restart policy, token volume, labels and annotations. Pure.
import { isObject, listAt, objectAt, withDefault, withField, withList, withObject } from "../../json/edit.ts";
import { equivalent } from "../../json/equivalent.ts";
import type { Json, JsonObject } from "../../json/types.ts";
import { withPullSecrets } from "./agent-image.ts";
import { podPath } from "./template.ts";
import type { Unsupported } from "./unsupported.ts";

/** The container that kubectl logs and kubectl exec use by default. */
export const DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container";

export interface PodAdditions {
  readonly tokenVolume: JsonObject;
  readonly pullSecrets: readonly string[];
  /** Overwrite the user's. */
  readonly labels: Readonly<Record<string, string>>;
  /** Set only where the user has none of that name. */
  readonly annotations: Readonly<Record<string, string>>;
}

/**
 * restartPolicy is Never: the workers have their own rules, and Jobs accept a podFailurePolicy only with Never.
 * OnFailure is replaced without a warning, because it is the default that JobSet's own webhook writes.
 */
export function withPodFields(podSpec: JsonObject, { tokenVolume, pullSecrets }: PodAdditions): JsonObject {
  const restarted = withField(podSpec, "restartPolicy", "Never");
  const mounted = withList(restarted, "volumes", (volumes) => {
    const present = volumes.findIndex((volume) => isObject(volume) && volume["name"] === tokenVolume["name"]);
    if (present === -1) return [...volumes, tokenVolume];
    return equivalent(volumes[present], tokenVolume) ? volumes : volumes.with(present, tokenVolume);
  });
  return withPullSecrets(mounted, pullSecrets);
}

export function withPodMetadata(pod: JsonObject, { labels, annotations }: PodAdditions): JsonObject {
  return withObject(pod, "metadata", (metadata) => {
    const labeled = withObject(metadata, "labels", (written) =>
      Object.entries(labels).reduce((all, [key, value]) => withField(all, key, value), written),
    );
    return withObject(labeled, "annotations", (written) =>
      Object.entries(annotations).reduce((all, [key, value]) => withDefault(all, key, value), written),
    );
  });
}

/** Labels of every node, and the only way to choose Windows where `os` is not set. The second one is deprecated. */
const OS_LABELS = ["kubernetes.io/os", "beta.kubernetes.io/os"] as const;

const WINDOWS = "windows";

export function checkOperatingSystem(podSpec: JsonObject, index: number): Unsupported | undefined {
  const place = windowsPlace(podSpec);
  if (place === undefined) return undefined;
  return {
    rule: "linux-only",
    path: `${podPath(index)}.${place}`,
    problem: "asks for Windows, and the agent runs on Linux only",
    fix: "run it on Linux nodes",
  };
}

/** The field that sends the Pod to Windows nodes. */
function windowsPlace(podSpec: JsonObject): string | undefined {
  if (objectAt(podSpec, "os")?.["name"] === WINDOWS) return "os.name";
  const selector = objectAt(podSpec, "nodeSelector");
  const label = OS_LABELS.find((key) => selector?.[key] === WINDOWS);
  if (label !== undefined) return `nodeSelector[${label}]`;
  const required = objectAt(objectAt(objectAt(podSpec, "affinity"), "nodeAffinity"), REQUIRED);
  const terms = listAt(required, "nodeSelectorTerms");
  // One of the terms is enough for a node, so all of them must ask for Windows.
  return terms.length > 0 && terms.every(asksForWindows) ? `affinity.nodeAffinity.${REQUIRED}` : undefined;
}

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";

function asksForWindows(term: Json): boolean {
  return listAt(isObject(term) ? term : undefined, "matchExpressions")
    .filter(isObject)
    .some(({ key, operator, values }) => {
      const isAboutSystem = OS_LABELS.some((label) => label === key) && operator === "In";
      return isAboutSystem && Array.isArray(values) && values.every((value) => value === WINDOWS);
    });
}
