// The training jobs of examples/, for each of the three ways to recover. Everything but that is the same.
import { JOBSET, MAX_INT32 } from "../../src/api/names.ts";
import { asList, asMap } from "../../src/json/fields.ts";
import { type Example, RANKS } from "../../test/ecosystem/training-example.ts";
import { type Contender, ON_FAILURE, upstreamAgent } from "../recovery/contenders.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Far above the number of failures, so that no group runs out of restarts. */
const MAX_RESTARTS = 1_000;

export function jobSetOf(contender: Contender, { name, spec }: Example): object {
  const inPlace = contender === "upstream";
  const strategy = inPlace ? { restartStrategy: "InPlaceRestart" } : {};
  const [stage] = asList(spec["replicatedJobs"]).map(asMap);
  const template = asMap(stage?.["template"]);
  const job = asMap(template["spec"]);
  const podTemplate = asMap(job["template"]);
  const podSpec = asMap(podTemplate["spec"]);
  const changedJob = {
    ...job,
    parallelism: RANKS,
    completions: RANKS,
    ...(inPlace ? { backoffLimit: MAX_INT32, podReplacementPolicy: "Failed" } : {}),
    template: { ...podTemplate, spec: inPlace ? withUpstreamAgent(podSpec) : podSpec },
  };
  return {
    apiVersion: `${JOBSET.group}/${JOBSET.version}`,
    kind: JOBSET.kind,
    metadata: { name, namespace: contender },
    spec: {
      ...spec,
      failurePolicy: { maxRestarts: MAX_RESTARTS, ...strategy },
      replicatedJobs: [{ ...stage, template: { ...template, spec: changedJob } }],
    },
  };
}

/** The setup that KEP-467 asks for. */
function withUpstreamAgent(podSpec: Fields): Fields {
  const containers = asList(podSpec["containers"]).map((container) => ({
    ...asMap(container),
    restartPolicy: "Never",
    restartPolicyRules: ON_FAILURE,
  }));
  return { ...podSpec, initContainers: [upstreamAgent()], containers };
}
