// The programs: their Deployments, the leader, and the versions of all parts. Pure.
import { ANNOTATION } from "../../api/names.ts";
import { asCount, asList, asMap, asText, asTextMap, type Fields } from "../../json/fields.ts";
import { type Facts, nameOf } from "../facts.ts";
import { APPLY, type Check, fail, judgeRead, ok, type Verdict, warn } from "../finding.ts";

const PROGRAMS = ["reprise-webhook", "reprise-controller"] as const;

export const deployments: Check = {
  name: "deployments",
  describe: "Every replica of the webhook and of the controller is available.",
  scope: "installation",
  judge: ({ deployments: all, systemNamespace }) =>
    judgeRead(
      all,
      "Deployments",
      () => [fail(`namespace ${systemNamespace} has no Deployments`, APPLY)],
      (found) => PROGRAMS.flatMap((program) => judgeDeployment(program, found, systemNamespace)),
    ),
};

function judgeDeployment(program: string, found: readonly Fields[], namespace: string): readonly Verdict[] {
  const deployment = found.find((each) => nameOf(each) === program);
  if (deployment === undefined) return [fail(`there is no Deployment ${program} in namespace ${namespace}`, APPLY)];
  const wanted = asCount(asMap(deployment["spec"])["replicas"]) ?? 1;
  const available = asCount(asMap(deployment["status"])["availableReplicas"]) ?? 0;
  if (available >= wanted && wanted > 0) return [ok(`${program}: ${available} of ${wanted} replicas are available`)];
  const message = `${program}: ${available} of ${wanted} replicas are available`;
  const fix =
    wanted === 0
      ? `kubectl scale deployment -n ${namespace} ${program} --replicas=2`
      : `kubectl describe pods -n ${namespace} -l app.kubernetes.io/component=${program.replace("reprise-", "")}`;
  return [available === 0 ? fail(message, fix) : warn(message, fix)];
}

/** This machine and the leader may have different times. */
const CLOCK_SKEW_MS = 30_000;

export const leader: Check = {
  name: "leader",
  describe: "A controller leads: it holds the Lease and renews it. Without one, no restart completes.",
  scope: "installation",
  judge({ lease, now, systemNamespace }) {
    const fix = `kubectl logs -n ${systemNamespace} deployment/reprise-controller`;
    return judgeRead(
      lease,
      "Leases",
      () => [fail("no controller has ever led: there is no Lease reprise-controller", fix)],
      (object) => {
        const { holderIdentity, renewTime, leaseDurationSeconds } = asMap(object["spec"]);
        const holder = asText(holderIdentity) ?? "";
        const endsAt = Date.parse(asText(renewTime) ?? "") + (asCount(leaseDurationSeconds) ?? 0) * 1_000;
        if (holder === "") return [fail("no controller leads: the last leader has left", fix)];
        if (!(endsAt + CLOCK_SKEW_MS > now))
          return [fail(`no controller leads: ${holder} last renewed the Lease at ${renewTime}`, fix)];
        return [ok(`${holder} leads`)];
      },
    );
  },
};

export const versions: Check = {
  name: "versions",
  describe: "Webhook, controller, agents and this program have the same version.",
  scope: "installation",
  judge(facts) {
    const found = facts.deployments.kind === "read" ? facts.deployments.value : [];
    const images = PROGRAMS.map((program) => imageOf(found.find((each) => nameOf(each) === program)));
    const [webhook, controller] = images;
    const agent = agentImageOf(found.find((each) => nameOf(each) === "reprise-webhook"));
    const verdicts: Verdict[] = [];
    if (webhook !== undefined && controller !== undefined && webhook !== controller) {
      const message = `the webhook runs ${webhook} and the controller ${controller}`;
      verdicts.push(warn(message, `set one image in kustomization.yaml, then: ${APPLY}`));
    }
    if (agent !== undefined && webhook !== undefined && agent !== webhook)
      verdicts.push(warn(`new agents get ${agent} and the webhook runs ${webhook}`, `${REPLACEMENT}, then: ${APPLY}`));
    const served = servedVersion(facts);
    if (served !== undefined && served !== facts.version) {
      const message = `this program is version ${facts.version}, the webhook is ${served}`;
      verdicts.push(warn(message, `use reprise ${served}`));
    }
    if (verdicts.length > 0) return verdicts;
    const image = webhook === undefined ? "" : `, image ${webhook}`;
    return served === undefined && webhook === undefined ? [] : [ok(`version ${served ?? facts.version}${image}`)];
  },
};

const REPLACEMENT = "repeat the replacement of REPRISE_AGENT_IMAGE in your overlay";

function containerOf(deployment: Fields | undefined): Fields {
  const template = asMap(asMap(deployment?.["spec"])["template"]);
  return asMap(asList(asMap(template["spec"])["containers"])[0]);
}

function imageOf(deployment: Fields | undefined): string | undefined {
  return asText(containerOf(deployment)["image"]);
}

function agentImageOf(deployment: Fields | undefined): string | undefined {
  const variable = asList(containerOf(deployment)["env"])
    .map(asMap)
    .find(({ name }) => name === "REPRISE_AGENT_IMAGE");
  return asText(variable?.["value"]);
}

/** The version in the record that the webhook wrote into the dry-run JobSet. */
function servedVersion({ jobSetProbe }: Facts): string | undefined {
  if (jobSetProbe.kind !== "answered") return undefined;
  const record = asTextMap(asMap(jobSetProbe.object["metadata"])["annotations"])[ANNOTATION.status];
  try {
    return asText(asMap(JSON.parse(record ?? "null"))["version"]);
  } catch {
    return undefined;
  }
}
