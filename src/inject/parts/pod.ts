// The Pod template around the containers: restart policy, token volume, labels and annotations. Pure.
import { isObject, objectAt, withDefault, withField, withList, withObject } from "../../json/edit.ts";
import { equivalent } from "../../json/equivalent.ts";
import type { JsonObject } from "../../json/types.ts";
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

/** The label of every node, and the only way to choose Windows where `os` is not set. */
const OS_LABEL = "kubernetes.io/os";

export function checkOperatingSystem(podSpec: JsonObject, index: number): Unsupported | undefined {
  const path = podPath(index);
  const places = [
    [`${path}.os.name`, objectAt(podSpec, "os")?.["name"]],
    [`${path}.nodeSelector[${OS_LABEL}]`, objectAt(podSpec, "nodeSelector")?.[OS_LABEL]],
  ] as const;
  const windows = places.find(([, value]) => value === "windows");
  if (windows === undefined) return undefined;
  return {
    rule: "linux-only",
    path: windows[0],
    problem: "is windows, and the agent runs on Linux only",
    fix: "run it on Linux nodes",
  };
}
