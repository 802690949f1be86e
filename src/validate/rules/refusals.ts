// The rules that injection itself enforces: it cannot build a group from a JobSet that breaks one of them. Their checks
// live in src/inject and src/policy; here they are reported again for JobSets that came past the mutating webhook.
import { judged, type Rule } from "../rule.ts";

function refusal(name: string, describe: string, reason: string): Rule {
  return {
    name,
    describe,
    severity: "error",
    scope: "opted-in",
    check: ({ refusals }) =>
      judged(
        refusals.filter(({ rule }) => rule === name),
        reason,
      ),
  };
}

export const toggle = refusal(
  "toggle",
  'The annotation `reprise.dev/inject` is "true" or "false": a guess could inject, or not, against the user\'s will.',
  "the toggle is absent or readable",
);

export const exitCodes = refusal(
  "exit-codes",
  "`reprise.dev/fail-exit-codes` and `-recreate-exit-codes` hold codes and ranges from 1 to 255, share no code, and leave one to the restart in place.",
  "the exit codes can be read and share no code",
);

export const failurePolicy = refusal(
  "failure-policy",
  "`reprise.dev/failure-policy` names a policy of the namespace's ConfigMap or of the config file that can be read, and no annotation beside it puts a code of it into the other class.",
  "the policy is absent, or known and usable",
);

export const participation = refusal(
  "participation",
  "`reprise.dev/replicated-jobs` and `reprise.dev/worker-containers` name things that exist, and every participant has a worker.",
  "every name exists and every participant has a worker",
);

export const malformed = refusal(
  "malformed",
  "Every replicatedJob has a name and a Pod template with named containers.",
  "every replicatedJob can be read",
);

export const nodeLossGrace = refusal(
  "node-loss-grace",
  "`reprise.dev/node-loss-grace` is a duration with a unit.",
  "the grace period is absent or a duration",
);

export const agentResources = refusal(
  "agent-resources",
  "`reprise.dev/agent-cpu` and `reprise.dev/agent-memory` are quantities that a process can live with.",
  "the agent's resources are absent or usable",
);

export const agentName = refusal(
  "agent-name",
  "No container and no volume of the user has a name that injection needs.",
  "the names of the agent and its volume are free",
);

export const linuxOnly = refusal(
  "linux-only",
  "Participating Pods run on Linux, as the agent does.",
  "no participant asks for Windows",
);

export const completions = refusal(
  "completions",
  "`completions` equals `parallelism`: all Pods of a group run at the same time.",
  "every Pod of the group runs at the same time",
);

export const successPolicy = refusal(
  "success-policy",
  "Participating Jobs have no `successPolicy`: the group succeeds when every Pod has. The JobSet's own `successPolicy` may say which replicatedJobs matter.",
  "no Job ends Pods of the group early",
);

export const ruleLimit = refusal(
  "rule-limit",
  "With those of injection there are at most 20 restartPolicyRules per container and 20 podFailurePolicy rules per Job, as Kubernetes allows.",
  "the rules fit into the limits of Kubernetes",
);

export const failurePolicyRuleName = refusal(
  "failure-policy-rule-name",
  "No failurePolicy rule of the user has the name of the one that injection adds.",
  "the name of the added rule is free",
);
