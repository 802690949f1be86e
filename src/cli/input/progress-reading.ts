// Asks the agents of a group how far their workers are, through the API server. For people only: nothing is decided by
// it, so an agent that cannot be asked is left out.
import { BARRIER_PORT_ENV, HANG_ENV, PROGRESS_PATH } from "../../api/names.ts";
import type { Pod } from "../../api/pod.ts";
import { findAgent } from "../../inject/parts/agent.ts";
import { readTemplate } from "../../inject/parts/template.ts";
import { isObject, listAt, named, objectAt } from "../../json/edit.ts";
import { asCount } from "../../json/fields.ts";
import type { JsonObject } from "../../json/types.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { WorkerProgress } from "../output/group-reading.ts";

/** Each Pod is a request of its own. */
const MOST_PODS = 256;

/** In the order of the Pods. Empty if no hangs are detected, or the user may not use the proxy to Pods. */
export async function readProgress(
  client: KubeClient,
  jobSet: JsonObject,
  pods: readonly Pod[],
): Promise<readonly WorkerProgress[]> {
  const ports = portsOf(jobSet);
  const asked = pods
    .filter(
      ({ phase, deletion, replicatedJob }) => phase === "Running" && deletion === undefined && ports.has(replicatedJob),
    )
    .slice(0, MOST_PODS);
  const read = await Promise.all(asked.map((pod) => readOne(client, pod, ports.get(pod.replicatedJob) ?? "")));
  return read.flat();
}

async function readOne(client: KubeClient, { namespace, name }: Pod, port: string): Promise<readonly WorkerProgress[]> {
  const path = `/api/v1/namespaces/${namespace}/pods/${name}:${port}/proxy${PROGRESS_PATH}`;
  try {
    const answer = await client.request("GET", path);
    const [step, seconds] = [asCount(answer["step"]), asCount(answer["seconds"])];
    if (seconds === undefined) return [];
    return [{ pod: name, reports: answer["reports"] === true, seconds, ...(step === undefined ? {} : { step }) }];
  } catch {
    return [];
  }
}

/** The port of the agents that watch the progress of their workers, by replicatedJob. */
function portsOf(jobSet: JsonObject): ReadonlyMap<string, string> {
  const ports = new Map<string, string>();
  for (const item of listAt(objectAt(jobSet, "spec"), "replicatedJobs").filter(isObject)) {
    const template = readTemplate(item);
    const env = listAt(findAgent(template?.podSpec ?? {}), "env");
    const port = named(env, BARRIER_PORT_ENV)?.["value"];
    if (template !== undefined && named(env, HANG_ENV.hangAfter) !== undefined && typeof port === "string")
      ports.set(template.name, port);
  }
  return ports;
}
