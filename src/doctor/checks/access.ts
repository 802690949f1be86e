// Rights of the accounts of reprise, and the admission policies that narrow those of agents. Pure.
import { asList, asMap, asText } from "../../json/fields.ts";
import { nameOf } from "../facts.ts";
import { APPLY, type Check, fail, judgeRead, listed, ok, type Verdict, warn } from "../finding.ts";
import { AGENT_ROLES, describeRight, RIGHTS } from "../rights.ts";

export const rights: Check = {
  name: "rights",
  describe: "The accounts of webhook and controller have every right that they use.",
  scope: "installation",
  judge: ({ missingRights }) =>
    judgeRead(
      missingRights,
      "the rights of other accounts (SubjectAccessReview)",
      () => [],
      (missing) => {
        if (missing.length === 0) return [ok(`all ${RIGHTS.length} rights of the two accounts are granted`)];
        const accounts = Map.groupBy(missing, ({ account }) => account);
        return [...accounts].map(([account, lacking]) =>
          fail(`account ${account} may not: ${listed(lacking.map(describeRight))}`, APPLY),
        );
      },
    ),
};

export const agentRoles: Check = {
  name: "agent-roles",
  describe: "The ClusterRoles exist that the controller binds to the accounts of injected Pods.",
  scope: "installation",
  judge: ({ agentRoles: roles }) =>
    judgeRead(
      roles,
      "ClusterRoles",
      () => [],
      (found) => {
        const missing = AGENT_ROLES.filter((role) => !found.includes(role));
        return missing.length === 0
          ? [ok("the ClusterRoles of agents exist")]
          : [fail(`there is no ClusterRole ${missing.join(", ")}, so Pods wait at their first barrier`, APPLY)];
      },
    ),
};

/** Each policy with its bindings. */
const POLICIES = {
  "reprise-pods": ["reprise-members", "reprise-other-pods"],
  "reprise-epoch-binding": ["reprise-epoch-binding"],
} as const;

export const admissionPolicies: Check = {
  name: "admission-policies",
  describe:
    "The admission policies are bound and deny. Without them an account of a worker could restart other groups.",
  scope: "installation",
  judge: ({ policies, policyBindings }) =>
    judgeRead(
      policies,
      "ValidatingAdmissionPolicies",
      () => [fail("the API server serves no ValidatingAdmissionPolicy", "enable admissionregistration.k8s.io/v1")],
      (found) =>
        judgeRead(
          policyBindings,
          "ValidatingAdmissionPolicyBindings",
          () => [],
          (bindings) => {
            const verdicts = Object.entries(POLICIES).flatMap(([name, bound]) =>
              judgePolicy(name, bound, found, bindings),
            );
            return verdicts.length === 0 ? [ok(`${Object.keys(POLICIES).join(" and ")} deny`)] : verdicts;
          },
        ),
    ),
};

type Objects = readonly Readonly<Record<string, unknown>>[];

function judgePolicy(name: string, bound: readonly string[], policies: Objects, bindings: Objects): readonly Verdict[] {
  const policy = policies.find((each) => nameOf(each) === name);
  if (policy === undefined) return [fail(`there is no ValidatingAdmissionPolicy ${name}`, APPLY)];
  const denying = bindings
    .filter(({ spec }) => asMap(spec)["policyName"] === name)
    .filter(({ spec }) => asList(asMap(spec)["validationActions"]).includes("Deny"))
    .map(nameOf);
  const missing = bound.filter((binding) => !denying.includes(binding));
  if (missing.length > 0)
    return [fail(`no ValidatingAdmissionPolicyBinding ${missing.join(", ")} lets policy ${name} deny`, APPLY)];
  const [warning] = asList(asMap(asMap(policy["status"])["typeChecking"])["expressionWarnings"]).map(asMap);
  if (warning === undefined) return [];
  return [warn(`policy ${name} does not match this API server: ${asText(warning["warning"])}`, "upgrade reprise")];
}
