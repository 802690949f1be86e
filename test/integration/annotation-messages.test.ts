// The webhook answers every mistake in an annotation with its own message: which annotation, what is wrong with the
// value, and what to write instead. The tests compare what kubectl shows to the user.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ANNOTATION } from "../../src/api/names.ts";
import { container, jobSet } from "../builders/jobset.ts";
import type { Kubectl } from "../cluster/kubectl.ts";
import { createNamespace } from "../reprise-programs.ts";
import { type AdmissionChain, startAdmissionChain } from "./admission-chain.ts";

type Annotations = Readonly<Record<string, string>>;
/** The annotations, the one that is wrong, and the message. */
type Row = readonly [annotations: Annotations, at: string, message: string];

const NAMESPACE = "team";

function of(key: string, rule: string, ...rows: readonly (readonly [value: string, message: string])[]): Row[] {
  return rows.map(([value, message]) => [{ [key]: value }, key, `${message} [${rule}]`]);
}

const TOO_LONG = Array.from({ length: 700 }, () => "1").join();
const POLICIES = {
  broken: "failExitCodes: [",
  beyond: "recreateExitCodes: 80-300",
  mistyped: "failExitcode: 78",
  empty: "{}",
};

const DENIED: readonly Row[] = [
  ...of(
    ANNOTATION.inject,
    "toggle",
    ["yes", '"yes" is neither "true" nor "false"; use one of them, in quotes'],
    ["True", '"True" is neither "true" nor "false"; use one of them, in quotes'],
    ["", '"" is neither "true" nor "false"; use one of them, in quotes'],
  ),
  ...of(
    ANNOTATION.replicatedJobs,
    "participation",
    ["", '"" names no replicatedJob; list names separated by commas, or remove the annotation to select all'],
    [" , ", '" , " names no replicatedJob; list names separated by commas, or remove the annotation to select all'],
    ["worker", '"worker" is not a replicatedJob of this JobSet; did you mean "workers"?'],
    ["workers, evaluators", '"evaluators" is not a replicatedJob of this JobSet; use one of: driver, workers'],
  ),
  ...of(
    ANNOTATION.workerContainers,
    "participation",
    ["", '"" names no container; list names separated by commas, or remove the annotation to select all'],
    ["train,lgo", '"lgo" is not a container of this JobSet; did you mean "log"?'],
    ["train,metrics", '"metrics" is not a container of this JobSet; use one of: train, log'],
  ),
  ...of(
    ANNOTATION.failExitCodes,
    "exit-codes",
    ["", 'is empty; list codes and ranges such as "40-50,137", or remove it'],
    ["40,,50", '"40,,50" has nothing on one side of a comma; remove the comma'],
    ["40,", '"40," has nothing on one side of a comma; remove the comma'],
    ["0", '"0" contains 0, which is success and not a failure; remove it'],
    ["0-5", '"0-5" contains 0, which is success and not a failure; remove it'],
    ["256", '"256" goes beyond 255, the largest exit code; use codes from 1 to 255'],
    ["250-300", '"250-300" goes beyond 255, the largest exit code; use codes from 1 to 255'],
    ["50-40", '"50-40" is a reversed range; use "40-50"'],
    ["40,40", '"40" repeats 40, which "40" already contains; remove one of them'],
    ["40-50,45", '"45" repeats 45, which "40-50" already contains; remove one of them'],
    ["forty", '"forty" is not an exit code or a range; use a value such as "137" or "40-50"'],
    ["40 50", '"40 50" is not an exit code or a range; use a value such as "137" or "40-50"'],
    ["40–50", '"40–50" is not an exit code or a range; use a value such as "137" or "40-50"'],
    ["-1", '"-1" is not an exit code or a range; use a value such as "137" or "40-50"'],
    ["1.5", '"1.5" is not an exit code or a range; use a value such as "137" or "40-50"'],
    ["0x80", '"0x80" is not an exit code or a range; use a value such as "137" or "40-50"'],
    ["SIGKILL", '"SIGKILL" is not an exit code or a range; use a value such as "137" or "40-50"'],
    [
      "1-255",
      "the classes have 255 codes, and Kubernetes allows 254 besides 0 in one rule; leave at least one code " +
        "for restarts in place",
    ],
    [TOO_LONG, 'must be text of at most 1275 characters; use a value such as "40-50,137"'],
  ),
  ...of(
    ANNOTATION.recreateExitCodes,
    "exit-codes",
    ["", 'is empty; list codes and ranges such as "40-50,137", or remove it'],
    ["300", '"300" goes beyond 255, the largest exit code; use codes from 1 to 255'],
    ["7-5", '"7-5" is a reversed range; use "5-7"'],
    ["all", '"all" is not an exit code or a range; use a value such as "137" or "40-50"'],
  ),
  [
    { [ANNOTATION.failExitCodes]: "40-50,137", [ANNOTATION.recreateExitCodes]: "48-52,137" },
    ANNOTATION.recreateExitCodes,
    "48-50,137 is also in reprise.dev/fail-exit-codes, and a code belongs to only one class; remove it from " +
      "one of them [exit-codes]",
  ],
  ...of(
    ANNOTATION.failurePolicy,
    "failure-policy",
    ["", 'names no failure policy; use a name such as "cuda-default", or remove the annotation'],
    [
      "cuda-defalt",
      '"cuda-defalt" is not defined in ConfigMap reprise-failure-policies of namespace team or the config ' +
        'file; did you mean "cuda-default"?',
    ],
    [
      "gentle",
      '"gentle" is not defined in ConfigMap reprise-failure-policies of namespace team or the config file; ' +
        "use one of: beyond, broken, cuda-default, empty, mistyped",
    ],
    [
      "beyond",
      '"beyond" is not valid: in ConfigMap reprise-failure-policies of namespace team, key beyond, ' +
        'recreateExitCodes "80-300" goes beyond 255, the largest exit code; use codes from 1 to 255',
    ],
    [
      "mistyped",
      '"mistyped" is not valid: in ConfigMap reprise-failure-policies of namespace team, key mistyped, ' +
        'failExitcode is not a field of a failure policy; did you mean "failExitCodes"?',
    ],
    [
      "empty",
      '"empty" is not valid: in ConfigMap reprise-failure-policies of namespace team, key empty, it has ' +
        'neither failExitCodes nor recreateExitCodes; use a field such as `recreateExitCodes: "80"`',
    ],
    [
      "broken",
      '"broken" is not valid: in ConfigMap reprise-failure-policies of namespace team, key broken, it is not ' +
        "valid YAML: Flow sequence in block collection must be sufficiently indented and end with a ]; use a " +
        'field such as `recreateExitCodes: "80"`',
    ],
  ),
  [
    { [ANNOTATION.failurePolicy]: "cuda-default", [ANNOTATION.failExitCodes]: "79-81" },
    ANNOTATION.failExitCodes,
    '80 is in the recreate class of failure policy "cuda-default", and a code belongs to only one class; ' +
      "remove it here, or remove reprise.dev/failure-policy and list all codes in annotations [failure-policy]",
  ],
  [
    { [ANNOTATION.failurePolicy]: "cuda-default", [ANNOTATION.recreateExitCodes]: "78" },
    ANNOTATION.recreateExitCodes,
    '78 is in the fail class of failure policy "cuda-default", and a code belongs to only one class; remove ' +
      "it here, or remove reprise.dev/failure-policy and list all codes in annotations [failure-policy]",
  ],
  ...of(
    ANNOTATION.maxRestarts,
    "max-restarts",
    ["ten", '"ten" is not a whole number from 0 to 2147483647; use a value such as "10"'],
    ["-1", '"-1" is not a whole number from 0 to 2147483647; use a value such as "10"'],
    ["2147483648", '"2147483648" is not a whole number from 0 to 2147483647; use a value such as "10"'],
    ["", '"" is not a whole number from 0 to 2147483647; use a value such as "10"'],
  ),
  ...of(
    ANNOTATION.escalateAfter,
    "escalate-after",
    ["never", '"never" is not a whole number from 0 (never) to 2147483647; use a value such as "3"'],
    ["-3", '"-3" is not a whole number from 0 (never) to 2147483647; use a value such as "3"'],
  ),
  ...of(
    ANNOTATION.onPartialSuccess,
    "on-partial-success",
    [
      "restart",
      '"restart" is not "recreate" (JobSet recreates all Jobs) or "continue" (Pods that succeeded do not ' +
        'restart); use a value such as "recreate"',
    ],
    [
      "Continue",
      '"Continue" is not "recreate" (JobSet recreates all Jobs) or "continue" (Pods that succeeded do not ' +
        'restart); use a value such as "recreate"',
    ],
  ),
  ...of(
    ANNOTATION.nodeLossGrace,
    "node-loss-grace",
    ["30", '"30" is not a duration such as "30s", "5m" or "1h30m"; write a number with its unit'],
    ["soon", '"soon" is not a duration such as "30s", "5m" or "1h30m"; write a number with its unit'],
    ["-5s", '"-5s" is not a duration such as "30s", "5m" or "1h30m"; write a number with its unit'],
    ["1m30m", '"1m30m" is not a duration such as "30s", "5m" or "1h30m"; write a number with its unit'],
    ["", '"" is not a duration such as "30s", "5m" or "1h30m"; write a number with its unit'],
  ),
  ...of(
    ANNOTATION.agentCpu,
    "agent-resources",
    ["0", '"0" is not a quantity above 0; use a value such as "100m"'],
    ["-1", '"-1" is not a quantity above 0; use a value such as "100m"'],
    ["0.1 cores", '"0.1 cores" is not a quantity above 0; use a value such as "100m"'],
  ),
  ...of(
    ANNOTATION.agentMemory,
    "agent-resources",
    ["64m", '"64m" is not a quantity of at least 1Mi; use a value such as "64Mi"'],
    ["64MB", '"64MB" is not a quantity of at least 1Mi; use a value such as "64Mi"'],
    ["1Ki", '"1Ki" is not a quantity of at least 1Mi; use a value such as "64Mi"'],
  ),
  ...of(
    ANNOTATION.restartRequest,
    "restart-request",
    ["", '"" is not a text of 1 to 200 characters in one line; use a value such as "loss is NaN"'],
    ["a\nb", '"a\\nb" is not a text of 1 to 200 characters in one line; use a value such as "loss is NaN"'],
  ),
  ...of(ANNOTATION.keepSharedMemory, "keep-shared-memory", [
    "yes",
    '"yes" is not "true" or "false"; use a value such as "true"',
  ]),
  ...of(
    ANNOTATION.hangAfter,
    "hang-detection",
    ["15", '"15" is not "learned" or a duration such as "30s", "5m" or "1h30m"; use a value such as "15m"'],
    ["0s", '"0s" is not between 1s and a year; use a value such as "15m"'],
  ),
  ...of(ANNOTATION.onHang, "on-hang", [
    "kill",
    '"kill" is not "warn" (an Event and a condition) or "restart" (a counted restart in place); use a value such as ' +
      '"warn"',
  ]),
  ...of(ANNOTATION.startDeadline, "hang-detection", [
    "learned",
    '"learned" is not a duration such as "30s", "5m" or "1h30m"; use a value such as "15m"',
  ]),
  ...of(
    ANNOTATION.progressFile,
    "hang-detection",
    ["latest", '"latest" is not the absolute path of a file; use one such as "/checkpoints/latest"'],
    [
      "/data/latest",
      '"/data/latest" is in no volume that a worker mounts; name a file below the mountPath of a volume without ' +
        "subPathExpr, or remove the annotation to use the volume of injection",
    ],
  ),
  ...of(ANNOTATION.hangDetection, "hang-detection", [
    "nccl",
    '"nccl" is neither "file" nor "nccl-ras"; use one of them',
  ]),
  ...of(
    ANNOTATION.safeToForcefullyDelete,
    "force-delete",
    ["yes", '"yes" is not "true" or "false"; use a value such as "true"'],
    ["", '"" is not "true" or "false"; use a value such as "true"'],
  ),
];

/** Allowed, because nothing breaks, but not what the author intends. */
const WARNED: readonly Row[] = [
  [
    { "reprise.dev/max-restart": "3" },
    "reprise.dev/max-restart",
    "is not known to reprise and has no effect; did you mean reprise.dev/max-restarts?",
  ],
  [
    { "reprise.dev/failurepolicy": "x" },
    "reprise.dev/failurepolicy",
    "is not known to reprise and has no effect; did you mean reprise.dev/failure-policy?",
  ],
  [
    { "reprise.dev/color": "blue" },
    "reprise.dev/color",
    "is not known to reprise and has no effect; remove it (docs/annotations.md lists all)",
  ],
  [
    { [ANNOTATION.maxRestarts]: "0" },
    ANNOTATION.maxRestarts,
    "is 0: the first failure fails the JobSet, and nothing restarts in place; raise it",
  ],
];

let chain: AdmissionChain;
let kubectl: Kubectl;

beforeAll(async () => {
  chain = await startAdmissionChain();
  kubectl = chain.controlPlane.kubectl;
  await createNamespace(kubectl, NAMESPACE);
  const metadata = { name: "reprise-failure-policies", namespace: NAMESPACE };
  const policies = { apiVersion: "v1", kind: "ConfigMap", metadata, data: POLICIES };
  await kubectl(["create", "-f", "-"], { input: JSON.stringify(policies) });
});

afterAll(async () => {
  await chain.controlPlane.stop();
});

/** Creates the JobSet as a dry run on the server. Resolves to what kubectl prints if it is allowed. */
function create(annotations: Annotations): Promise<string> {
  const builder = jobSet("train")
    .metadata({ namespace: NAMESPACE })
    .spec({ failurePolicy: { maxRestarts: 3 } })
    .replicatedJob("driver", { pods: 1 })
    .replicatedJob("workers", { pods: 2, containers: [container("train"), container("log")] });
  for (const [key, value] of Object.entries(annotations)) builder.annotation(key, value);
  const input = JSON.stringify(builder.build());
  return kubectl(["create", "--dry-run=server", "-o", "name", "-f", "-"], { input, withWarnings: true });
}

test("a JobSet without mistakes is accepted without a warning", async () => {
  expect(await create({})).toBe("jobset.jobset.x-k8s.io/train\n");
});

describe("a JobSet with these annotations is denied with its own message", () => {
  test.each(DENIED)("%j", async (annotations, at, message) => {
    const said = await create(annotations).catch((error: Error) => error.message.replace(/^kubectl .*: exit 1: /, ""));
    expect(said).toBe(`The JobSet "train" is invalid: metadata.annotations[${at}]: ${message}`);
  });
});

describe("a JobSet with these annotations is allowed with its own warning", () => {
  test.each(WARNED)("%j", async (annotations, at, message) => {
    expect(await create(annotations)).toBe(
      `jobset.jobset.x-k8s.io/train\nWarning: reprise: metadata.annotations[${at}]: ${message}\n`,
    );
  });
});

test("the table covers every user annotation and at least thirty mistakes, each with a different message", () => {
  const rows = [...DENIED, ...WARNED];
  const written = Object.values(ANNOTATION).filter((key) => key !== ANNOTATION.status);
  expect(new Set(rows.map(([, at]) => at))).toEqual(new Set([...written, ...WARNED.map(([, at]) => at)]));
  expect(rows.length).toBeGreaterThanOrEqual(30);
  expect(new Set(rows.map(([, at, message]) => `${at}: ${message}`)).size).toBe(rows.length);
  // Each message says what is wrong and then what to do.
  for (const [, , message] of rows) expect(message).toMatch(/; \S/);
});
