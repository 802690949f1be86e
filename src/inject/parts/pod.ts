// The Pod template around the containers: restart policy, credentials, marks. Pure.
import type { Finding } from "../../api/admission.ts";
import { isObject, objectAt, withDefault, withField, withList, withObject } from "../../json/edit.ts";
import { equivalent } from "../../json/equivalent.ts";
import type { JsonObject } from "../../json/types.ts";
import { podPath } from "./template.ts";

/** kubectl shows logs of, and opens shells in, this container when none is named. */
export const DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container";

export interface PodAdditions {
  readonly tokenVolume: JsonObject;
  readonly pullSecrets: readonly string[];
  /** Always set. */
  readonly labels: Readonly<Record<string, string>>;
  /** Set where the user has none of that name. */
  readonly annotations: Readonly<Record<string, string>>;
}

/**
 * Never at Pod level: the workers have rules of their own, and Jobs take a podFailurePolicy only then. It replaces
 * OnFailure without a warning, because OnFailure is what JobSet's own webhook writes where the user wrote nothing.
 */
export function withPodFields(podSpec: JsonObject, { tokenVolume, pullSecrets }: PodAdditions): JsonObject {
  const restarted = withField(podSpec, "restartPolicy", "Never");
  const mounted = withList(restarted, "volumes", (volumes) => {
    const present = volumes.findIndex((volume) => isObject(volume) && volume["name"] === tokenVolume["name"]);
    if (present === -1) return [...volumes, tokenVolume];
    return equivalent(volumes[present], tokenVolume) ? volumes : volumes.with(present, tokenVolume);
  });
  return withList(mounted, "imagePullSecrets", (written) => {
    const known = new Set(written.filter(isObject).map((secret) => secret["name"]));
    const missing = pullSecrets.filter((name) => !known.has(name));
    return missing.length === 0 ? written : [...written, ...missing.map((name) => ({ name }))];
  });
}

export function withPodMarks(pod: JsonObject, { labels, annotations }: PodAdditions): JsonObject {
  return withObject(pod, "metadata", (metadata) => {
    const labelled = withObject(metadata, "labels", (written) =>
      Object.entries(labels).reduce((all, [key, value]) => withField(all, key, value), written),
    );
    return withObject(labelled, "annotations", (written) =>
      Object.entries(annotations).reduce((all, [key, value]) => withDefault(all, key, value), written),
    );
  });
}

export function checkOperatingSystem(podSpec: JsonObject, index: number): Finding | undefined {
  if (objectAt(podSpec, "os")?.["name"] !== "windows") return undefined;
  return {
    rule: "linux-only",
    path: `${podPath(index)}.os.name`,
    message: "the agent runs on Linux only; leave this replicatedJob out with reprise.dev/replicated-jobs",
  };
}
