// Whether a JobSet was injected before. Pure. Decided by the agents in its templates: labels and the record may be
// lost.
import { listAt } from "../../json/edit.ts";
import type { JsonObject } from "../../json/types.ts";
import { findAgent } from "../parts/agent.ts";
import { readTemplate } from "../parts/template.ts";

export function isInjected(spec: JsonObject): boolean {
  return listAt(spec, "replicatedJobs").some((job) => {
    const template = readTemplate(job);
    return template !== undefined && findAgent(template.podSpec) !== undefined;
  });
}
