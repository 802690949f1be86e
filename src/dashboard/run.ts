// Assembles the dashboard: watches feed the model, and the stream tells open pages what has changed. It sends the
// cluster nothing but lists and watches.
import { once } from "node:events";
import type { Server } from "node:http";
import type { Change } from "../api/change.ts";
import { IN_PLACE_RESTART, readInPlaceRestart } from "../api/in-place-restart.ts";
import { readJobSet } from "../api/jobset.ts";
import { JOBSET, LABEL } from "../api/names.ts";
import { readPod } from "../api/pod.ts";
import { RepriseError, reasonOf } from "../errors.ts";
import type { JsonObject } from "../json/types.ts";
import { type CollectionReader, Reflector } from "../kube/reflector.ts";
import { portOf } from "../process/listen.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Assets } from "./assets.ts";
import { createDashboardServer } from "./server.ts";
import { EventStream, STREAM_LIMITS, type StreamLimits } from "./stream.ts";
import { Model } from "./view/model.ts";
import { Problems } from "./view/problems.ts";

export interface DashboardOptions {
  readonly client: CollectionReader;
  /** All of them if absent. */
  readonly namespace?: string;
  readonly address: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly allowedHosts: readonly string[];
  readonly assets: Assets;
  readonly log: Logger;
  readonly limits?: Partial<StreamLimits>;
}

export interface RunningDashboard {
  readonly port: number;
  readonly stream: Pick<EventStream, "clients" | "dropped">;
  close(): Promise<void>;
}

interface Watch {
  readonly watched: string;
  readonly reflector: Pick<Reflector<unknown>, "synced" | "whenSynced" | "start" | "stop">;
}

export async function runDashboard(options: DashboardOptions): Promise<RunningDashboard> {
  const { client, namespace, address, port, allowedHosts, assets, log } = options;
  const now = Date.now;
  const model = new Model();
  const problems = new Problems();
  const within = namespace === undefined ? "" : `/namespaces/${namespace}`;
  const watch = <T>(
    watched: string,
    [api, plural]: readonly [api: string, plural: string],
    labelSelector: string | undefined,
    project: (raw: JsonObject) => T,
    onChange: (change: Change<T>) => void,
  ): Watch => ({
    watched,
    reflector: new Reflector({
      client,
      path: `${api}${within}/${plural}`,
      ...(labelSelector === undefined ? {} : { labelSelector }),
      project,
      onChange: (change) => {
        problems.succeeded(watched);
        onChange(change);
        stream.notify();
      },
      onError: (error, stage) => {
        log.warn({ watched, stage, err: error }, "watch interrupted");
        problems.failed(watched, reasonOf(error), now());
        stream.notify();
      },
    }),
  });
  const injected = `${LABEL.injected}=true`;
  const watches = [
    watch("inplacerestarts", apiOf(IN_PLACE_RESTART), undefined, readInPlaceRestart, (change) =>
      model.objectChanged(change),
    ),
    watch("jobsets", apiOf(JOBSET), injected, readJobSet, (change) => model.jobSetChanged(change)),
    watch("pods", ["/api/v1", "pods"], injected, readPod, (change) => model.podChanged(change)),
  ];
  const missing = () => watches.filter(({ reflector }) => !reflector.synced).map(({ watched }) => watched);
  const stream = new EventStream({ model, problems, missing, now }, { ...STREAM_LIMITS, ...options.limits });
  const server = createDashboardServer({ assets, stream, allowedHosts, missing });
  try {
    await listen(server, address, port);
  } catch (error) {
    stream.close();
    throw error;
  }
  for (const { watched, reflector } of watches) {
    reflector.start();
    void reflector.whenSynced().then(() => {
      problems.succeeded(watched);
      stream.notify();
    });
  }
  return {
    port: portOf(server),
    stream,
    async close() {
      stream.close();
      server.close();
      server.closeAllConnections();
      await Promise.all(watches.map(({ reflector }) => reflector.stop()));
    },
  };
}

function apiOf({ group, version, plural }: { group: string; version: string; plural: string }) {
  return [`/apis/${group}/${version}`, plural] as const;
}

async function listen(server: Server, address: string, port: number): Promise<void> {
  server.listen({ host: address, port });
  try {
    await once(server, "listening");
  } catch (error) {
    throw new RepriseError("DASHBOARD_CANNOT_LISTEN", { address, port, reason: reasonOf(error) }, { cause: error });
  }
}
