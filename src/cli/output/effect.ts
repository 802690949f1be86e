// What injection means for the owner of a JobSet, in one sentence: the size of the group, how often it may restart, and
// which exit codes and parts are exceptions. Pure. It reads the injected object, because that is what will run.
import { recreationAfter } from "../../../controller/escalation/failure-rules.ts";
import { exitClassesOf } from "../../../controller/group/exit-classes.ts";
import type { Finding } from "../../api/admission.ts";
import { hasAgent } from "../../api/agent-container.ts";
import { budgetText, readBudget } from "../../api/budget.ts";
import { type JobSet, type ReplicatedJob, readJobSet } from "../../api/jobset.ts";
import { ANNOTATION } from "../../api/names.ts";
import { protocolOf } from "../../api/protocol.ts";
import { recordJson } from "../../api/record-json.ts";
import { asList, asMap, asText, type Fields } from "../../json/fields.ts";
import type { JsonObject } from "../../json/types.ts";
import { formatCodes } from "../../policy/exit-codes.ts";
import { count } from "./count.ts";

/** A warning about a product that is used beside reprise refers to its part of this page. */
const PARTNER_PAGE = /\bdocs\/compatibility\.md#[\w-]+/;

/** More are not readable in one line. */
const MAX_NAMES = 5;

/** For example "group of 8 Pods, 6 restarts (from backoffLimit), exit 42 fails the JobSet". */
export function effectOf(injected: JsonObject, warnings: readonly Finding[]): string {
  const jobSet = readJobSet(injected);
  const { replicatedJobs, annotations } = jobSet;
  const group = replicatedJobs.filter(isInGroup);
  const record = recordJson(annotations) ?? {};
  const budget = readBudget(record["budget"]);
  return [
    `group of ${count(podsOf(group), "Pod")}`,
    ...(protocolOf(jobSet) === "jobset"
      ? ["restarts counted by JobSet"]
      : budget === undefined
        ? []
        : [budgetText(budget)]),
    ...exitEffects(jobSet).map(({ codes, effect }) => `exit ${codes} ${effect}`),
    ...leftOutTexts(replicatedJobs, record["leftOut"]),
    ...partnerTexts(warnings),
  ].join(", ");
}

function isInGroup({ template }: ReplicatedJob): boolean {
  return hasAgent(podSpecOf(template));
}

function podSpecOf(jobTemplate: Fields): Fields {
  return asMap(asMap(asMap(jobTemplate["spec"])["template"])["spec"]);
}

function podsOf(group: readonly ReplicatedJob[]): number {
  return group.reduce((pods, { replicas, parallelism }) => pods + replicas * parallelism, 0);
}

export interface ExitEffect {
  /** For example "40-50,137". */
  readonly codes: string;
  readonly effect: string;
}

/** The exit codes of workers that do not restart the group in place. */
export function exitEffects(jobSet: JobSet): readonly ExitEffect[] {
  const workers = jobSet.replicatedJobs.filter(isInGroup).flatMap(({ name, template }) =>
    asList(podSpecOf(template)["containers"])
      .map(asMap)
      .filter(restartsInPlace)
      .map((container) => ({ name, ...exitClassesOf(container, asMap(template["spec"])) })),
  );
  const isFinal = ({ name }: { readonly name: string }) =>
    recreationAfter(jobSet, { replicatedJob: name, reason: "PodFailurePolicy", message: "" }) === "none";
  const texts = [
    { codes: workers.filter(isFinal).flatMap(({ fail }) => fail), effect: "fails the JobSet" },
    { codes: workers.filter((worker) => !isFinal(worker)).flatMap(({ fail }) => fail), effect: "recreates the Jobs" },
    { codes: workers.flatMap(({ recreate }) => recreate), effect: "gets a new Pod" },
  ];
  return texts.flatMap(({ codes, effect }) => (codes.length === 0 ? [] : [{ codes: codesText(codes), effect }]));
}

function restartsInPlace(container: Fields): boolean {
  return asList(container["restartPolicyRules"]).some((rule) => asMap(rule)["action"] === "RestartAllContainers");
}

function codesText(codes: readonly number[]): string {
  return formatCodes([...new Set(codes)].sort((a, b) => a - b));
}

/** With the reason where injection recorded one. The others were left out by the user. */
function leftOutTexts(replicatedJobs: readonly ReplicatedJob[], recorded: unknown): string[] {
  const reasons = new Map(asList(recorded).map((item) => [asText(asMap(item)["name"]), asText(asMap(item)["reason"])]));
  const names = replicatedJobs
    .filter((job) => !isInGroup(job))
    .map(({ name }) => `${name} (${reasons.get(name) ?? ANNOTATION.replicatedJobs})`);
  if (names.length === 0) return [];
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "";
  return [`without ${names.slice(0, MAX_NAMES).join(" and ")}${more}`];
}

function partnerTexts(warnings: readonly Finding[]): string[] {
  const texts = warnings.flatMap(({ rule, message }) => {
    const [page] = PARTNER_PAGE.exec(message) ?? [];
    return page === undefined ? [] : [`${rule}: see ${page}`];
  });
  return [...new Set(texts)];
}
