// How the agent of a Pod sees the progress of its workers. Pure. Only a JobSet that asks for hang detection gets any of
// this: the volume is an emptyDir, and `kubectl drain` refuses to delete a Pod with one.

import { annotationPath, type Finding } from "../../api/admission.ts";
import { AGENT, ANNOTATION, HANG_ENV, PROGRESS_FILE_ENV } from "../../api/names.ts";
import { quoted } from "../../json/brief.ts";
import { isObject, listAt, mapShared, named, objectAt, textAt, withList, withoutItems } from "../../json/edit.ts";
import { equivalent } from "../../json/equivalent.ts";
import type { Json, JsonObject } from "../../json/types.ts";
import type { HangInputs } from "../hang-inputs.ts";
import { podPath } from "./template.ts";
import type { Unsupported } from "./unsupported.ts";

/** `none`: no hangs are detected. `volume`: the volume of injection. Otherwise a mount of the user's own volume. */
type ProgressSource =
  | { readonly kind: "none" | "volume" | "nccl" }
  | { readonly kind: "user"; readonly mount: JsonObject; readonly path: string };

/** What injection adds to a Pod with workers that report to the volume of injection. */
export interface ProgressAdditions {
  readonly volume: JsonObject;
  readonly env: JsonObject;
  readonly mount: JsonObject;
}

/** A page for the file, and room for a temporary one that replaces it. tmpfs counts whole pages. */
const VOLUME_SIZE = "64Ki";

const FILE = `${AGENT.progressMountPath}/step`;

export function progressAdditions(): ProgressAdditions {
  return {
    volume: { name: AGENT.progressVolume, emptyDir: { medium: "Memory", sizeLimit: VOLUME_SIZE } },
    env: { name: PROGRESS_FILE_ENV, value: FILE },
    mount: { name: AGENT.progressVolume, mountPath: AGENT.progressMountPath },
  };
}

/** In a Pod whose workers do not mount the user's volume, no hangs are detected. */
export function progressSource(workers: readonly JsonObject[], hangs: HangInputs | undefined): ProgressSource {
  if (hangs === undefined) return { kind: "none" };
  if (hangs.detection === "nccl-ras") return { kind: "nccl" };
  if (hangs.progressFile === undefined) return { kind: "volume" };
  return userSource(workers, hangs.progressFile) ?? { kind: "none" };
}

/** The mount of a worker that holds the file: the one with the longest path, as for the kernel. */
function userSource(workers: readonly JsonObject[], file: string): ProgressSource | undefined {
  const mounts = workers.flatMap((worker) => listAt(worker, "volumeMounts")).filter(isObject);
  const holding = mounts.filter((mount) => file.startsWith(withSlash(textAt(mount, "mountPath") ?? "/")));
  const [mount] = holding.sort((a, b) => lengthOf(b) - lengthOf(a));
  // A path with variables is known only to the kubelet.
  if (mount === undefined || textAt(mount, "subPathExpr") !== undefined) return undefined;
  const subPath = textAt(mount, "subPath");
  return {
    kind: "user",
    mount: {
      name: textAt(mount, "name") ?? "",
      mountPath: AGENT.userProgressMountPath,
      readOnly: true,
      ...(subPath === undefined ? {} : { subPath }),
    },
    path: `${AGENT.userProgressMountPath}/${file.slice(withSlash(textAt(mount, "mountPath") ?? "").length)}`,
  };
}

function withSlash(path: string): string {
  return path.endsWith("/") ? path : `${path}/`;
}

function lengthOf(mount: JsonObject): number {
  return textAt(mount, "mountPath")?.length ?? 0;
}

export function progressEnv(source: ProgressSource, hangs: HangInputs | undefined): JsonObject[] {
  if (source.kind === "none" || hangs === undefined) return [];
  const { hangAfter, startDeadline } = hangs;
  return [
    { name: HANG_ENV.hangAfter, value: String(hangAfter) },
    ...(startDeadline === undefined ? [] : [{ name: HANG_ENV.startDeadline, value: String(startDeadline) }]),
    source.kind === "nccl"
      ? { name: HANG_ENV.podIps, valueFrom: { fieldRef: { fieldPath: "status.podIPs" } } }
      : { name: HANG_ENV.progressFile, value: source.kind === "user" ? source.path : FILE },
  ];
}

/** The agent writes nothing there. */
export function progressMount(source: ProgressSource): JsonObject[] {
  if (source.kind === "user") return [source.mount];
  return source.kind === "volume" ? [{ ...progressAdditions().mount, readOnly: true }] : [];
}

const ENV_NAMES: ReadonlySet<Json | undefined> = new Set(Object.values(HANG_ENV));
const MOUNT_PATHS: ReadonlySet<Json | undefined> = new Set([AGENT.progressMountPath, AGENT.userProgressMountPath]);

/** Whether a variable or mount of an agent is one of these. An earlier agent may have one that this one has not. */
export function isProgressPart(item: JsonObject): boolean {
  return ENV_NAMES.has(item["name"]) || MOUNT_PATHS.has(item["mountPath"]);
}

export function withProgress(
  podSpec: JsonObject,
  additions: ProgressAdditions | undefined,
  workers: ReadonlySet<string>,
): JsonObject {
  if (additions === undefined) return podSpec;
  const { volume, env, mount } = additions;
  const mounted = withList(podSpec, "volumes", (volumes) => withNamed(volumes, volume));
  return withList(mounted, "containers", (containers) =>
    mapShared(containers, (container) => {
      if (!isObject(container) || !workers.has(textAt(container, "name") ?? "")) return container;
      const told = withList(container, "env", (variables) => withNamed(variables, env));
      return withList(told, "volumeMounts", (mounts) => withNamed(mounts, mount));
    }),
  );
}

/** Replaces the item of the same name, or appends it. */
function withNamed(list: readonly Json[], item: JsonObject): readonly Json[] {
  const position = list.findIndex((each) => isObject(each) && each["name"] === item["name"]);
  if (position === -1) return [...list, item];
  return equivalent(list[position], item) ? list : list.with(position, item);
}

/** The additions in the Pod of a stored JobSet, in its spelling. */
export function storedProgress(podSpec: JsonObject, workers: readonly JsonObject[]): ProgressAdditions | undefined {
  const { volume: ownVolume, env: ownEnv, mount: ownMount } = progressAdditions();
  const volume = named(listAt(podSpec, "volumes"), AGENT.progressVolume);
  if (volume === undefined) return undefined;
  const [worker] = workers;
  return {
    volume: volume ?? ownVolume,
    env: named(listAt(worker, "env"), PROGRESS_FILE_ENV) ?? ownEnv,
    mount: named(listAt(worker, "volumeMounts"), AGENT.progressVolume) ?? ownMount,
  };
}

export function withoutProgress(podSpec: JsonObject, workers: ReadonlySet<string>): JsonObject {
  const isOwn = (name: string) => (item: Json) => isObject(item) && item["name"] === name;
  const unmounted = withList(podSpec, "volumes", (volumes) => withoutItems(volumes, isOwn(AGENT.progressVolume)));
  return withList(unmounted, "containers", (containers) =>
    mapShared(containers, (container) => {
      if (!isObject(container) || !workers.has(textAt(container, "name") ?? "")) return container;
      const untold = withList(container, "env", (variables) => withoutItems(variables, isOwn(PROGRESS_FILE_ENV)));
      return withList(untold, "volumeMounts", (mounts) => withoutItems(mounts, isOwn(AGENT.progressVolume)));
    }),
  );
}

/** The user's volume of that name would be replaced. */
export function checkProgressVolumeName(podSpec: JsonObject, index: number): Unsupported | undefined {
  const volumes = listAt(podSpec, "volumes");
  const position = volumes.findIndex((volume) => isObject(volume) && volume["name"] === AGENT.progressVolume);
  const volume = volumes[position];
  if (!isObject(volume) || objectAt(volume, "emptyDir")?.["medium"] === "Memory") return undefined;
  return {
    rule: "agent-name",
    path: `${podPath(index)}.volumes[${position}].name`,
    problem: `"${AGENT.progressVolume}" is reserved for the volume in which workers report their progress`,
    fix: "rename your volume",
  };
}

/** A file that no worker can write would never be judged, which is easily taken for a group that does not hang. */
export function checkProgressFile(
  sources: readonly ProgressSource[],
  hangs: HangInputs | undefined,
): Finding | undefined {
  const file = hangs?.progressFile;
  if (file === undefined || sources.some(({ kind }) => kind === "user")) return undefined;
  const message =
    `${quoted(file)} is in no volume that a worker mounts; name a file below the mountPath of a volume without ` +
    "subPathExpr, or remove the annotation to use the volume of injection";
  return { rule: "hang-detection", path: annotationPath(ANNOTATION.progressFile), message };
}
