// A folder that Pods of every node mount, as training jobs mount a parallel file system. All nodes of the local cluster
// are on one machine, so the test sees it too, and a named pipe in it connects Pods on different nodes.
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asList } from "../../src/json/fields.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { run } from "../cluster/run.ts";
import { SHARED_MOUNT_PATH } from "./scripts.ts";

type Fields = Readonly<Record<string, unknown>>;

export class SharedFolder {
  readonly #path: string;

  /** In the folder of the cluster, which is visible in every node and removed with it. */
  constructor({ stateDir }: Pick<Cluster, "stateDir">, name: string) {
    this.#path = join(stateDir, "shared", name);
    openFolder(this.#path);
  }

  /** The source of a volume. */
  get hostPath(): Fields {
    return { path: this.#path, type: "Directory" };
  }

  /** The fields of a Pod spec with this container, which mounts the folder beside its own volumes. */
  podSpec(container: Fields, ...volumes: readonly Fields[]): Fields {
    const mount = { name: "shared", mountPath: SHARED_MOUNT_PATH };
    return {
      volumes: [...volumes, { name: mount.name, hostPath: this.hostPath }],
      containers: [{ ...container, volumeMounts: [...asList(container["volumeMounts"]), mount] }],
    };
  }

  has(file: string): boolean {
    return existsSync(join(this.#path, file));
  }

  /** The names of the files that begin with this, in order. */
  files(prefix = ""): readonly string[] {
    return readdirSync(this.#path)
      .filter((name) => name.startsWith(prefix))
      .sort();
  }

  /** The complete lines of a file; none if it does not exist. A Pod may be writing the last one. */
  lines(file: string): readonly string[] {
    if (!this.has(file)) return [];
    return readFileSync(join(this.#path, file), "utf8").split("\n").slice(0, -1);
  }

  touch(file: string): void {
    writeFileSync(join(this.#path, file), "");
  }

  /** Makes the pipes that connect one worker to these peers, once for each of these starts. */
  connect(peers: readonly string[], starts: readonly number[] = [1]): void {
    for (const start of starts) {
      const folder = join(this.#path, String(start));
      openFolder(folder);
      run(["mkfifo", "--mode=666", ...peers.map((peer) => join(folder, peer))]);
    }
  }
}

/** Every user may write. Not sticky, because the kernel lets no user open another user's pipe for writing there. */
function openFolder(path: string): void {
  mkdirSync(path, { recursive: true });
  chmodSync(path, 0o777);
}
