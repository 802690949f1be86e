import { describe, expect, it } from "vitest";
import {
  at,
  create,
  injected,
  injectionErrors,
  settings,
  templateOf,
  update,
  warningTexts,
} from "../../test/builders/injection.ts";
import { container, type JobSetBuilder, jobSet, type ReplicatedJobParts } from "../../test/builders/jobset.ts";
import { stored, withCrdDefaults } from "../../test/builders/stored.ts";
import { readLeftOut } from "../api/left-out.ts";
import { readAnnotations } from "../api/metadata.ts";
import { AGENT, ANNOTATION } from "../api/names.ts";
import type { JsonObject } from "../json/types.ts";
import { validate } from "../validate/validate.ts";

const RULES: JsonObject[] = Array.from({ length: 20 }, (_, index) => ({
  action: "Restart",
  exitCodes: { operator: "In", values: [index + 1] },
}));
const FAILURE_RULES: JsonObject[] = Array.from({ length: 20 }, (_, index) => ({
  action: "Count",
  onExitCodes: { operator: "In", values: [index + 1] },
}));

/** A node affinity with these terms, one of which a node has to meet. */
function requiredNodes(...nodeSelectorTerms: JsonObject[]): JsonObject {
  return { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } };
}

function onSystems(...values: string[]): JsonObject {
  return { matchExpressions: [{ key: "kubernetes.io/os", operator: "In", values }] };
}

/** What cannot restart in place: the parts of the replicatedJob, the reason, and where the field is. */
const UNSUPPORTED: readonly [what: string, parts: ReplicatedJobParts, reason: string, path: string][] = [
  ["more completions than Pods at a time", { job: { completions: 4, parallelism: 2 } }, "completions", "completions"],
  ["completions without parallelism", { job: { completions: 4 } }, "completions", "completions"],
  ["the successPolicy of a Job", { job: { successPolicy: { rules: [] } } }, "success-policy", "successPolicy"],
  ["Windows", { pod: { os: { name: "windows" } } }, "linux-only", "template.spec.os.name"],
  [
    "a node selector for Windows",
    { pod: { nodeSelector: { "kubernetes.io/os": "windows" } } },
    "linux-only",
    "template.spec.nodeSelector[kubernetes.io/os]",
  ],
  [
    "a node selector with the old label for Windows",
    { pod: { nodeSelector: { "beta.kubernetes.io/os": "windows" } } },
    "linux-only",
    "template.spec.nodeSelector[beta.kubernetes.io/os]",
  ],
  [
    "a node affinity for Windows",
    { pod: { affinity: requiredNodes(onSystems("windows"), onSystems("windows")) } },
    "linux-only",
    "template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
  ],
  ["a work queue", { job: { completionMode: "NonIndexed", parallelism: 3 } }, "completions", "completions"],
  [
    "a container with the name of the agent",
    { containers: [container("train"), container(AGENT.container)] },
    "agent-name",
    "template.spec.containers",
  ],
  [
    "a volume with the name of the agent's volume",
    { pod: { volumes: [{ name: AGENT.tokenVolume, emptyDir: {} }] } },
    "agent-name",
    "template.spec.volumes[0].name",
  ],
  [
    "as many rules as Kubernetes allows for a container",
    { containers: [container("train", { restartPolicy: "Never", restartPolicyRules: RULES })] },
    "rule-limit",
    "template.spec.containers[0].restartPolicyRules",
  ],
  [
    "as many rules as Kubernetes allows for a podFailurePolicy",
    { job: { podFailurePolicy: { rules: FAILURE_RULES } } },
    "rule-limit",
    "podFailurePolicy.rules",
  ],
];

const refusing = { ...settings, onUnsupported: "refuse" } as const;

describe.each(UNSUPPORTED)("a replicatedJob with %s", (_what, parts, reason, path) => {
  const alone = () => jobSet().replicatedJob("other", parts);
  const together = () => jobSet().replicatedJob("workers", { pods: 2 }).replicatedJob("other", parts);
  const finding = (index: number) => ({ rule: reason, path: `spec.replicatedJobs[${index}].template.spec.${path}` });

  it("stays plain while the others are injected", () => {
    const outcome = create(together().build());
    expect(at(injected(outcome), "spec", "replicatedJobs", 1)).toEqual(
      at(together().build(), "spec", "replicatedJobs", 1),
    );
    expect(templateOf(injected(outcome)).podSpec["initContainers"]).toHaveLength(1);
    expect(outcome.warnings).toMatchObject([finding(1)]);
    expect(readLeftOut(readAnnotations(injected(outcome)))).toEqual([{ name: "other", reason }]);
  });

  it("passes validation together with the others", () => {
    const object = injected(create(together().build()));
    const verdict = validate({ operation: "CREATE", namespace: "default", object, config: settings });
    expect(verdict.errors).toEqual([]);
  });

  it("does not change when it is injected again, or applied again", () => {
    const once = injected(create(together().build()));
    expect(injected(create(once))).toBe(once);
    const live = stored(once);
    expect(injected(update(withCrdDefaults(together().build()), live))["spec"]).toEqual(live["spec"]);
  });

  it("leaves its JobSet plain if it is the only one", () => {
    const outcome = create(alone().build());
    expect(outcome).toMatchObject({ kind: "skipped", reason: "all-left-out", warnings: [finding(0)] });
  });

  it("is refused if the operator wants that", () => {
    expect(injectionErrors(create(together().build(), refusing))).toMatchObject([finding(1)]);
  });

  it("leaves its JobSet plain under JobSet's own protocol, which restarts all Pods or none", () => {
    const builder = together().spec({ failurePolicy: { restartStrategy: "InPlaceRestart" } });
    expect(create(builder.build())).toMatchObject({ kind: "skipped", reason: "all-left-out", warnings: [finding(1)] });
  });
});

it.each<[string, ReplicatedJobParts]>([
  ["whose node affinity allows Linux too", { pod: { affinity: requiredNodes(onSystems("windows", "linux")) } }],
  [
    "one of whose terms of node affinity is not about Windows",
    { pod: { affinity: requiredNodes(onSystems("windows"), { matchExpressions: [] }) } },
  ],
  ["with one Pod and completionMode NonIndexed", { job: { completionMode: "NonIndexed", parallelism: 1 } }],
  ["that sets only parallelism, which JobSet makes Indexed", { job: { parallelism: 3 } }],
])("a replicatedJob %s is injected", (_what, parts) => {
  expect(create(jobSet().replicatedJob("workers", parts).build())).toMatchObject({ kind: "injected", warnings: [] });
});

describe("replicatedJobs that are left out", () => {
  const queue = { job: { completions: 4, parallelism: 2 } };

  it("give one warning for each reason", () => {
    const builder = jobSet().replicatedJob("workers");
    for (const name of ["a", "b", "c"]) builder.replicatedJob(name, queue);
    expect(warningTexts(create(builder.build()))).toEqual([
      "spec.replicatedJobs[1].template.spec.completions: this replicatedJob does not restart in place: " +
        "4 completions, but parallelism is 2, and all Pods of a group run at the same time; " +
        "set both to the number of Pods (and 2 more like it)",
    ]);
  });

  it("are listed in the record up to twenty", () => {
    const builder = jobSet().replicatedJob("workers");
    for (let index = 0; index < 25; index++) builder.replicatedJob(`queue-${index}`, queue);
    expect(readLeftOut(readAnnotations(injected(create(builder.build()))))).toHaveLength(20);
  });

  it("are no targets of the rule that fails the JobSet", () => {
    const builder = jobSet().annotation(ANNOTATION.failExitCodes, "42").replicatedJob("workers");
    const result = injected(create(builder.replicatedJob("queue", queue).build()));
    expect(at(result, "spec", "failurePolicy", "rules", 0, "targetReplicatedJobs")).toEqual(["workers"]);
  });

  it("are refused if they have an agent of reprise, which would wait for a group without them", () => {
    const copy = (builder: JobSetBuilder) => injected(create(builder.build()));
    const object = structuredClone(copy(jobSet().replicatedJob("workers").replicatedJob("queue", { pods: 2 })));
    const job = at(object, "spec", "replicatedJobs", 1, "template", "spec");
    Object.assign(Object(job), { completions: 4 });
    expect(injectionErrors(create(object))).toMatchObject([{ rule: "completions" }]);
  });

  it("do not count as an error in an annotation that names them", () => {
    const builder = jobSet().annotation(ANNOTATION.replicatedJobs, "workers,queue").replicatedJob("workers");
    expect(create(builder.replicatedJob("queue", queue).build()).kind).toBe("injected");
  });
});
