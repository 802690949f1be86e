// Recognizes a JobSet with the agent of JobSet's own in-place restart, as in JobSet's examples: as a sidecar, or as the
// main container around the worker's command. Two agents in one Pod would restart it twice. Pure.
import type { Finding } from "../api/admission.ts";
import { isObject, listAt, textAt } from "../json/edit.ts";
import type { JsonObject } from "../json/types.ts";
import { podPath, readTemplate } from "./parts/template.ts";

/** The name of the container and of the image, in every example of JobSet. */
const UPSTREAM_AGENT = "in-place-restart-agent";

/** The warning about the first such agent. */
export function findUpstreamAgent(spec: JsonObject): Finding | undefined {
  for (const [index, job] of listAt(spec, "replicatedJobs").entries()) {
    const template = readTemplate(job);
    for (const key of template === undefined ? [] : (["initContainers", "containers"] as const)) {
      const position = listAt(template?.podSpec, key).findIndex((item) => isObject(item) && isUpstreamAgent(item));
      if (position === -1) continue;
      return {
        rule: "has-its-own-agent",
        path: `${podPath(index)}.${key}[${position}]`,
        message: "is JobSet's own agent, so reprise changes nothing in this JobSet; remove it to use reprise instead",
      };
    }
  }
  return undefined;
}

function isUpstreamAgent(container: JsonObject): boolean {
  const image = textAt(container, "image")?.split("/").at(-1)?.split(/[:@]/)[0];
  return container["name"] === UPSTREAM_AGENT || image === UPSTREAM_AGENT;
}
