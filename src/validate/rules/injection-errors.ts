// The rules that injection itself enforces: it cannot build a group from a JobSet that breaks one of them. The checks
// are in src/inject and src/policy. Here they are reported again for JobSets that bypassed the mutating webhook.
import { judged, type Rule } from "../rule.ts";

function injectionError(name: string, describe: string, reason: string): Rule {
  return {
    name,
    describe,
    severity: "error",
    scope: "opted-in",
    check: ({ injectionErrors }) =>
      judged(
        injectionErrors.filter(({ rule }) => rule === name),
        reason,
      ),
  };
}

export const toggle = injectionError(
  "toggle",
  'The annotation `reprise.dev/inject` is "true" or "false": a guess could inject against the user\'s will.',
  "the annotation is not set or valid",
);

export const exitCodes = injectionError(
  "exit-codes",
  "`reprise.dev/fail-exit-codes` and `reprise.dev/recreate-exit-codes` list codes and ranges from 1 to 255, share no " +
    "code, and leave at least one code for restarts in place.",
  "the exit codes are valid and share no code",
);

export const failurePolicy = injectionError(
  "failure-policy",
  "`reprise.dev/failure-policy` names a valid policy of the namespace's ConfigMap or of the config file, and no " +
    "exit-code annotation moves a code of the policy to the other class.",
  "no policy is named, or it is known and valid",
);

export const participation = injectionError(
  "participation",
  "`reprise.dev/replicated-jobs` and `reprise.dev/worker-containers` list existing names, and every participating " +
    "replicatedJob has a worker.",
  "every name exists and every participating replicatedJob has a worker",
);

export const malformed = injectionError(
  "malformed",
  "Every replicatedJob has a name and a Pod template with named containers.",
  "every replicatedJob is well-formed",
);

export const nodeLossGrace = injectionError(
  "node-loss-grace",
  "`reprise.dev/node-loss-grace` is a duration with a unit.",
  "the annotation is not set or a duration",
);

export const hangDetection = injectionError(
  "hang-detection",
  "The annotations for hang detection are valid: durations from 1s with a unit, a known kind of detection, and a " +
    "progress file in a volume that a worker mounts.",
  "the annotations are not set or valid",
);

export const agentResources = injectionError(
  "agent-resources",
  "`reprise.dev/agent-cpu` and `reprise.dev/agent-memory` are quantities that are enough for a process.",
  "the annotations are not set or valid",
);

export const agentName = injectionError(
  "agent-name",
  "No container or volume of the user has a name that is reserved for injection.",
  "the reserved names are not used",
);

export const linuxOnly = injectionError(
  "linux-only",
  "Participating Pods run on Linux, as the agent does.",
  "no participating Pod runs on Windows",
);

export const completions = injectionError(
  "completions",
  "`completions` equals `parallelism`: all Pods of a group run at the same time.",
  "all Pods of the group run at the same time",
);

export const successPolicy = injectionError(
  "success-policy",
  "Participating Jobs have no `successPolicy`: the group succeeds when every Pod succeeds. The `successPolicy` of " +
    "the JobSet may select replicatedJobs.",
  "no Job deletes Pods of the group early",
);

export const ruleLimit = injectionError(
  "rule-limit",
  "Including the injected ones, there are at most 20 restartPolicyRules per container and 20 podFailurePolicy rules " +
    "per Job: Kubernetes allows no more.",
  "the number of rules is within the limits of Kubernetes",
);

export const failurePolicyRuleName = injectionError(
  "failure-policy-rule-name",
  "No failurePolicy rule of the user has the name of the rule that injection adds.",
  "the reserved name is not used",
);
