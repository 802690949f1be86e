// All rules, in the order of `--explain` and docs/validation.md: first the user's own input, then what must be intact
// after the last webhook has run.
import type { Rule } from "./rule.ts";
import { agentEnvironment } from "./rules/agent-environment.ts";
import { agentFirst } from "./rules/agent-first.ts";
import { agentProbe } from "./rules/agent-probe.ts";
import { agentProcess } from "./rules/agent-process.ts";
import { agentRestartRule } from "./rules/agent-restart-rule.ts";
import { agentToken } from "./rules/agent-token.ts";
import { escalateAfter } from "./rules/escalate-after.ts";
import { failCodesCompiled } from "./rules/fail-codes-compiled.ts";
import { failedIndexes } from "./rules/failed-indexes.ts";
import { failureRules } from "./rules/failure-rules.ts";
import { forceDelete } from "./rules/force-delete.ts";
import { injected } from "./rules/injected.ts";
import {
  agentName,
  agentResources,
  completions,
  exitCodes,
  failurePolicy,
  failurePolicyRuleName,
  hangDetection,
  linuxOnly,
  malformed,
  nodeLossGrace,
  participation,
  ruleLimit,
  successPolicy,
  toggle,
} from "./rules/injection-errors.ts";
import { injectionMetadata } from "./rules/injection-metadata.ts";
import { jobFields } from "./rules/job-fields.ts";
import { keepSharedMemory } from "./rules/keep-shared-memory.ts";
import { livenessProbe } from "./rules/liveness-probe.ts";
import { maxRestarts } from "./rules/max-restarts.ts";
import { misplacedKeys } from "./rules/misplaced-keys.ts";
import { onHang } from "./rules/on-hang.ts";
import { onPartialSuccess } from "./rules/on-partial-success.ts";
import { ownRestartRules } from "./rules/own-restart-rules.ts";
import { gcsFuse, pathways, serviceMesh } from "./rules/partners.ts";
import { podFailurePolicy } from "./rules/pod-failure-policy.ts";
import { podRestartPolicy } from "./rules/pod-restart-policy.ts";
import { preStop } from "./rules/pre-stop.ts";
import { restartBudget } from "./rules/restart-budget.ts";
import { restartRequest } from "./rules/restart-request.ts";
import { tokenPrivate } from "./rules/token-private.ts";
import { unknownAnnotations } from "./rules/unknown-annotations.ts";
import { upstreamProtocol } from "./rules/upstream-protocol.ts";
import { valueLimit } from "./rules/value-limit.ts";
import { workerRules } from "./rules/worker-rules.ts";

export const RULES: readonly Rule[] = [
  malformed,
  toggle,
  participation,
  exitCodes,
  failurePolicy,
  nodeLossGrace,
  agentResources,
  hangDetection,
  onHang,
  keepSharedMemory,
  maxRestarts,
  escalateAfter,
  onPartialSuccess,
  restartRequest,
  forceDelete,
  unknownAnnotations,
  misplacedKeys,
  restartBudget,
  completions,
  successPolicy,
  agentName,
  tokenPrivate,
  linuxOnly,
  ruleLimit,
  valueLimit,
  failurePolicyRuleName,
  ownRestartRules,
  podFailurePolicy,
  failureRules,
  failedIndexes,
  livenessProbe,
  preStop,
  gcsFuse,
  pathways,
  serviceMesh,
  upstreamProtocol,
  injected,
  agentFirst,
  agentProcess,
  agentEnvironment,
  agentProbe,
  agentRestartRule,
  agentToken,
  jobFields,
  podRestartPolicy,
  workerRules,
  failCodesCompiled,
  injectionMetadata,
];
