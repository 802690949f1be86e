// `reprise doctor`: judges the facts about a cluster, before and after reprise is installed. Pure.
import { admissionPolicies, agentRoles, rights } from "./checks/access.ts";
import { jobSetApi, repriseApi } from "./checks/apis.ts";
import { authority, certificate, certManager } from "./checks/certificate.ts";
import { deployments, leader, versions } from "./checks/controller.ts";
import { queues, stalledGroups } from "./checks/groups.ts";
import { kubernetesVersion, restartRules } from "./checks/kubernetes.ts";
import { namespaces, notInjected } from "./checks/namespaces.ts";
import { containerRuntimes, nodeFeatures } from "./checks/nodes.ts";
import { webhookAnswers, webhookEndpoints, webhookRegistered } from "./checks/webhook.ts";
import { type Facts, isInstalled } from "./facts.ts";
import { APPLY, type Check, type Finding, warn } from "./finding.ts";

/** In the order of the output: what others depend on comes first. */
export const CHECKS: readonly Check[] = [
  kubernetesVersion,
  restartRules,
  nodeFeatures,
  containerRuntimes,
  jobSetApi,
  certManager,
  {
    name: "installed",
    describe: "reprise is installed. Without any part of it, the checks below do not apply.",
    scope: "cluster",
    judge: (facts) => (isInstalled(facts) ? [] : [warn("reprise is not installed", APPLY)]),
  },
  repriseApi,
  deployments,
  leader,
  rights,
  agentRoles,
  admissionPolicies,
  certificate,
  authority,
  webhookRegistered,
  webhookEndpoints,
  webhookAnswers,
  versions,
  namespaces,
  notInjected,
  stalledGroups,
  queues,
];

export function diagnose(facts: Facts): readonly Finding[] {
  const applicable = CHECKS.filter(({ scope }) => scope === "cluster" || isInstalled(facts));
  return applicable.flatMap(({ name, judge }) =>
    judge(facts).map((verdict) => ({ check: name, ...verdict, docs: `docs/doctor.md#${name}` })),
  );
}
