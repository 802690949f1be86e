// What the controller watches: seven collections, with a selector where one can keep unrelated objects out.

import type { Change } from "../../src/api/change.ts";
import { IN_PLACE_RESTART, readInPlaceRestart } from "../../src/api/in-place-restart.ts";
import { readJob } from "../../src/api/job.ts";
import { readJobSet } from "../../src/api/jobset.ts";
import { readIdentity } from "../../src/api/metadata.ts";
import { JOBSET, LABEL } from "../../src/api/names.ts";
import { type Node, readNode } from "../../src/api/node.ts";
import { readPod } from "../../src/api/pod.ts";
import type { InjectionSettings } from "../../src/inject/settings.ts";
import type { JsonObject } from "../../src/json/types.ts";
import {
  type CollectionReader,
  type ReconnectReason,
  Reflector,
  type ReflectorStage,
} from "../../src/kube/reflector.ts";
import type { Groups } from "../group/groups.ts";
import { JOBSET_API } from "./fenced-writes.ts";
import type { Watched } from "./metrics.ts";
import { type NotInjected, readPlainJobSet } from "./not-injected.ts";

interface WatchesOptions {
  readonly client: CollectionReader;
  readonly groups: Groups;
  readonly notInjected: NotInjected;
  readonly injection: InjectionSettings;
  /** Called for namespaces with the opt-in label only. */
  readonly onNamespace: (change: Change<unknown>) => void;
  readonly onNode: (change: Change<Node>) => void;
  readonly onError: (watched: Watched, error: unknown, stage: ReflectorStage) => void;
  readonly onRelist: (watched: Watched) => void;
  readonly onReconnect: (watched: Watched, reason: ReconnectReason) => void;
}

interface Watch {
  readonly watched: Watched;
  readonly reflector: Pick<Reflector<unknown>, "synced" | "whenSynced" | "start" | "stop">;
}

const INJECTED = `${LABEL.injected}=true`;
const JOBSETS = `/apis/${JOBSET_API}/${JOBSET.plural}`;

export class Watches {
  readonly #watches: readonly Watch[];

  constructor(options: WatchesOptions) {
    const { client, groups, notInjected, injection } = options;
    const watch = <T>(
      watched: Watched,
      path: string,
      labelSelector: string,
      project: (raw: JsonObject) => T,
      onChange: (change: Change<T>) => void,
    ): Watch => ({
      watched,
      reflector: new Reflector({
        client,
        path,
        ...(labelSelector === "" ? {} : { labelSelector }),
        project,
        onChange,
        onError: (error, stage) => options.onError(watched, error, stage),
        onRelist: () => options.onRelist(watched),
        onReconnect: (reason) => options.onReconnect(watched, reason),
      }),
    });
    const objects = `/apis/${IN_PLACE_RESTART.group}/${IN_PLACE_RESTART.version}/${IN_PLACE_RESTART.plural}`;
    this.#watches = [
      watch("jobsets", JOBSETS, INJECTED, readJobSet, (change) => groups.jobSetChanged(change)),
      // Includes Jobs of JobSets without injection: only Pods and JobSets carry the injected label.
      watch("jobs", "/apis/batch/v1/jobs", JOBSET.nameKey, readJob, (change) => groups.jobChanged(change)),
      watch("pods", "/api/v1/pods", INJECTED, readPod, (change) => groups.podChanged(change)),
      watch("inplacerestarts", objects, "", readInPlaceRestart, (change) => groups.objectChanged(change)),
      watch("namespaces", "/api/v1/namespaces", `${LABEL.injection}=enabled`, readIdentity, (change) => {
        notInjected.namespaceChanged(change);
        options.onNamespace(change);
      }),
      // Taints cannot be selected. Only the name and one taint of each node are kept.
      watch("nodes", "/api/v1/nodes", "", readNode, options.onNode),
      watch(
        "plain-jobsets",
        JOBSETS,
        `!${LABEL.injected}`,
        (raw) => readPlainJobSet(raw, injection),
        (change) => notInjected.jobSetChanged(change),
      ),
    ];
  }

  /** Collections without a first list. */
  get missing(): readonly Watched[] {
    return this.#watches.filter(({ reflector }) => !reflector.synced).map(({ watched }) => watched);
  }

  /** Resolves when every collection was listed. No decision is valid before that. */
  async start(): Promise<void> {
    for (const { reflector } of this.#watches) reflector.start();
    await Promise.all(this.#watches.map(({ reflector }) => reflector.whenSynced()));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#watches.map(({ reflector }) => reflector.stop()));
  }
}
