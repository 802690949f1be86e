// The images of the cluster's own Pods, built from the binaries in the cache and kept beside them.
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Binaries, cacheFolder } from "../binaries.ts";
import { type ImageRecipe, writeImage } from "../image.ts";
import { PAUSE_IMAGE } from "../node.ts";
import { cacheKey, type ToolGroupName } from "../tool-groups.ts";

/** The user of distroless images. */
const NON_ROOT = "65532";

/** A shell and small tools for test workloads, which refer to it as local/busybox:1. */
const BUSYBOX_IMAGE = "docker.io/local/busybox:1";
const BUSYBOX_COMMANDS = [
  "sh",
  "sleep",
  "cat",
  "echo",
  "kill",
  "nc",
  "date",
  "test",
  "touch",
  "ls",
  "env",
  "id",
  "true",
  "rm",
];

const BUSYBOX_FILES: ImageRecipe["files"] = [
  { path: "/bin/busybox", source: { file: "/usr/bin/busybox" } },
  ...BUSYBOX_COMMANDS.map((name) => ({ path: `/bin/${name}`, source: { linkTo: "busybox" } })),
];

/** Returns the path of the image's archive. Builds it if the cache does not contain it. */
export function pauseArchive(binaries: Binaries): string {
  const init = binaries("init", "reprise-cluster-init");
  return archive("init", {
    name: PAUSE_IMAGE,
    files: [{ path: "/pause", source: { file: init } }],
    entrypoint: ["/pause"],
    user: NON_ROOT,
  });
}

/** The user is the one that a container without runAsUser gets. */
export function busyboxArchive(image = BUSYBOX_IMAGE, user = NON_ROOT): string {
  return archive("init", { name: image, files: BUSYBOX_FILES, entrypoint: ["/bin/sh"], user });
}

/** An image whose only content is one static program of a tool group. `shell` adds one that the program can start. */
export function programArchive(
  binaries: Binaries,
  group: ToolGroupName,
  program: string,
  image: string,
  { shell = false } = {},
): string {
  return archive(group, {
    name: image,
    files: [{ path: `/${program}`, source: { file: binaries(group, program) } }, ...(shell ? BUSYBOX_FILES : [])],
    entrypoint: [`/${program}`],
    user: NON_ROOT,
  });
}

function archive(group: ToolGroupName, recipe: ImageRecipe): string {
  const folder = join(cacheFolder(), "images", cacheKey(group));
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${recipe.name.replaceAll(/[/:]/g, "_")}.tar`);
  if (!existsSync(file)) writeImage(recipe, file);
  return file;
}
