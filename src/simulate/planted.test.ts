// Shows that the simulator finds what it is there to find: each promise is broken on purpose in the controller's own
// rules, and the run must end with the breach that names the promise.
import { afterEach, describe, expect, it, vi } from "vitest";
import { epochRuns } from "../../controller/group/epochs.ts";
import { RULES } from "../../controller/rules/chain.ts";
import type { Context, Rule, Step } from "../../controller/rules/rule.ts";
import { failOverBudget } from "../../controller/rules/spend-budget.ts";
import { openRecord } from "../../controller/status/history.ts";
import { epochsFor } from "../../controller/tell-agents.ts";
import type { GroupEpoch } from "../api/group-epoch.ts";
import type { RestartRecord } from "../api/in-place-restart.ts";
import type { FailureRule } from "../api/jobset.ts";
import { AGENT } from "../api/names.ts";
import type { Pod } from "../api/pod.ts";
import type { FaultKind } from "./faults/catalog.ts";
import { FINAL_CODE } from "./faults/kill-containers.ts";
import { patchGroupEpoch } from "./group-epoch-writes.ts";
import { JobController } from "./job-controller.ts";
import type { PolicyShape } from "./policies.ts";
import type { JobSetShape } from "./shape.ts";
import { simulate } from "./simulate.ts";

/** Whether agents ever believe that reprise was removed. */
const removal = vi.hoisted(() => ({ isBelieved: true }));

vi.mock("../../agent/decide-removed.ts", async (original) => {
  const actual = await original<typeof import("../../agent/decide-removed.ts")>();
  const mayStartAlone: typeof actual.mayStartAlone = (...known) => removal.isBelieved && actual.mayStartAlone(...known);
  return { ...actual, mayStartAlone };
});

vi.mock("../../controller/tell-agents.ts", { spy: true });
vi.mock("./group-epoch-writes.ts", { spy: true });
const truth = await vi.importActual<typeof import("../../controller/tell-agents.ts")>(
  "../../controller/tell-agents.ts",
);
const server = await vi.importActual<typeof import("./group-epoch-writes.ts")>("./group-epoch-writes.ts");

afterEach(() => {
  removal.isBelieved = true;
  vi.restoreAllMocks();
  vi.mocked(epochsFor).mockImplementation(truth.epochsFor);
  vi.mocked(patchGroupEpoch).mockImplementation(server.patchGroupEpoch);
});

/** Every group runs by then. */
const SETTLED_MS = 20_000;
const HANG_AFTER_MS = 20_000;

/** Most plants show in every other run. */
const RUNS = 20;

interface Setting {
  readonly faults: readonly FaultKind[];
  /** Milliseconds between two faults. */
  readonly apart?: number;
  readonly maxRestarts?: number;
  readonly policies?: PolicyShape;
  readonly escalateAfter?: number;
  readonly hangAfterMs?: number;
  /** Number of seeds, for a plant that shows in few of them. */
  readonly runs?: number;
}

/** The breaches of runs in which the faults strike one after the other. */
function breachesOf(setting: Setting): readonly string[] {
  const { faults, apart = 60_000, maxRestarts = 1_000, policies, escalateAfter = 1, runs = RUNS } = setting;
  const { hangAfterMs } = setting;
  const stage = (name: string, parallelism: number) => ({ name, replicas: 1, parallelism, dependsOn: [] });
  const stages = [stage("driver", 1), stage("workers", 3)];
  const shape: JobSetShape = { stages, inOrder: false, maxRestarts, escalateAfter };
  return Array.from({ length: runs }, (_, seed) => seed).flatMap((seed) => {
    const at = (index: number) => SETTLED_MS + index * apart + ((seed * 37) % 1_000);
    return simulate({
      seed,
      shape: {
        ...shape,
        ...(policies === undefined ? {} : { policies }),
        ...(hangAfterMs === undefined ? {} : { hangAfterMs }),
      },
      faults: faults.map((kind, index) => ({ kind, at: at(index) })),
    }).breaches;
  });
}

/** Replaces what a rule of the chain does. */
function plant(name: string, apply: (context: Context, original: Rule["apply"]) => Step | undefined): void {
  const rule = RULES.find((each) => each.name === name);
  if (rule === undefined) throw new Error(`there is no rule ${name}`);
  const original = rule.apply;
  vi.spyOn(rule, "apply").mockImplementation((context) => apply(context, original));
}

function remove(...names: readonly string[]): void {
  for (const name of names) plant(name, () => undefined);
}

/** Changes the newest record of every step that the rule takes. */
function changeRecord(name: string, change: (record: RestartRecord, context: Context) => RestartRecord): void {
  plant(name, (context, original) => {
    const step = original(context);
    const record = step?.status.history.at(-1);
    if (step === undefined || record === undefined) return step;
    return { ...step, status: { ...step.status, history: step.status.history.with(-1, change(record, context)) } };
  });
}

/** Agents are told something else than what the InPlaceRestart says. */
function tellAgents(change: (epochs: GroupEpoch) => GroupEpoch): void {
  vi.mocked(epochsFor).mockImplementation((jobSet, object) => {
    const epochs = truth.epochsFor(jobSet, object);
    return epochs === undefined ? undefined : change(epochs);
  });
}

function ruleFor(action: FailureRule["action"], stage: string): FailureRule {
  const everything = { onJobFailureReasons: [], onJobFailureMessagePatterns: [] };
  return { name: "own", action, targetReplicatedJobs: [stage], ...everything };
}

const BY_DRIVER: PolicyShape = { successPolicy: { operator: "All", targetReplicatedJobs: ["driver"] } };
/** The driver is most likely among those that finish. JobSet takes seconds to complete. */
const PEER_CRASHES: Setting = {
  faults: ["finish-worker", "finish-worker", "finish-worker", "kill-worker"],
  apart: 600,
};
const EXEMPT: PolicyShape = { rules: [ruleFor("RestartJobSetAndIgnoreMaxRestarts", "workers")] };
const FINAL: PolicyShape = { rules: [ruleFor("FailJobSet", "workers")], backoffLimits: { workers: 0 } };

const FAIL_CODES: PolicyShape = { failCodes: [FINAL_CODE] };

/** Nothing has ended when the epoch does: neither the workers of a deleted Pod, nor those of a suspended JobSet. */
const IN_VAIN = /^epoch \d+ ended (although nothing ended in it|while)/;

const PLANTS: readonly (readonly [string, Setting, () => void, RegExp])[] = [
  [
    "a suspension ends the epoch while its Pods save their work",
    { faults: ["suspend"] },
    () =>
      plant("close-when-suspended", ({ jobSet, status }) => {
        if (!jobSet.suspended) return undefined;
        return { status: { ...status, deprecatedEpoch: status.syncedEpoch }, notices: [] };
      }),
    IN_VAIN,
  ],
  [
    "a drain ends the epoch while its worker saves its work",
    { faults: ["evict-pod"] },
    () =>
      plant("end-epoch", (context, original) => {
        const { group, status } = context;
        if (group.ending.size === 0) return original(context);
        return { status: { ...status, deprecatedEpoch: status.syncedEpoch }, notices: [] };
      }),
    IN_VAIN,
  ],
  [
    "the victims of a lost node fail the JobSet before its cause is known",
    { faults: ["lose-node"], maxRestarts: 0 },
    () =>
      plant("enforce-budget", ({ jobSet, status, now }) => {
        return openRecord(status)?.counted === true ? failOverBudget(jobSet, status, "", now) : undefined;
      }),
    /^the JobSet failed because of a disruption in epoch \d+$/,
  ],
  [
    "a disruption counts as a failure",
    { faults: ["evict-pod"] },
    () => {
      remove("uncount-disruption");
      changeRecord("end-epoch", (record) => ({ ...record, counted: true }));
    },
    /^1 restarts counted for 0 failures$/,
  ],
  [
    "peers of a driver that has succeeded restart the group",
    { ...PEER_CRASHES, policies: BY_DRIVER },
    () => remove("rest-on-success", "hold-for-success"),
    /^restarted after the targets had succeeded$/,
  ],
  [
    "peers of a driver that has succeeded fail the JobSet",
    { ...PEER_CRASHES, policies: BY_DRIVER, maxRestarts: 0 },
    () => {
      remove("rest-on-success", "hold-for-success");
      // At once: JobSet completes before every Pod is back at the barrier.
      plant("end-epoch", (context, original) => {
        const { jobSet, status, now } = context;
        return original(context) && failOverBudget(jobSet, status, "", now);
      });
    },
    /^failed the JobSet after the targets had succeeded$/,
  ],
  [
    "a failure that a rule makes final restarts the group",
    { faults: ["kill-worker"], policies: FINAL },
    () => remove("fail-on-failure-rule"),
    /^restarted after the failure of train-workers-\S+, which rule own makes final$/,
  ],
  [
    "a failure that a rule exempts is counted",
    { faults: ["kill-worker"], policies: EXEMPT },
    () => {
      remove("settle-blame");
      changeRecord("end-epoch", (record) => ({ ...record, counted: true }));
    },
    /^counted the failure of train-workers-\S+, which rule own exempts$/,
  ],
  [
    "an initContainer that its kubelet retries restarts the group",
    { faults: ["kill-worker", "kill-worker"] },
    () =>
      plant("end-epoch", (context, original) => {
        const { group, status } = context;
        const hasFailed = ({ name, init, state }: Pod["containers"][number]) =>
          init && name !== AGENT.container && state.kind === "terminated" && state.exitCode !== 0;
        const isRetried = [...group.members.values()].some(({ pod }) => pod.containers.some(hasFailed));
        if (!isRetried || !epochRuns(status)) return original(context);
        return { status: { ...status, deprecatedEpoch: status.syncedEpoch }, notices: [] };
      }),
    IN_VAIN,
  ],
  [
    "an exit code that fails the JobSet restarts the group",
    { faults: ["exit-final", "kill-worker"], apart: 100, policies: FAIL_CODES },
    () => remove("fail-on-exit-code"),
    /^restarted after exit code 42 of train-\S+, which is final$/,
  ],
  [
    "an exit code that fails the JobSet does not fail it",
    { faults: ["exit-final"], policies: FAIL_CODES },
    () => {
      remove("fail-on-exit-code");
      // As without the rule that injection adds: JobSet recreates its Jobs.
      vi.spyOn(JobController.prototype, "isFailedByPolicy").mockReturnValue(false);
    },
    /^train-\S+ failed for good, and the JobSet did not$/,
  ],
  [
    "a Pod whose shared memory is full gets no new Pod",
    { faults: ["fill-shared-memory"], escalateAfter: 50 },
    () => remove("settle-blame"),
    /^the group did not come back/,
  ],
  [
    "a group that fails after reprise was removed waits endlessly",
    { faults: ["remove-reprise", "kill-worker"], apart: 5_000 },
    () => {
      removal.isBelieved = false;
    },
    /^the group did not come back: 3 workers run/,
  ],
  [
    "the ladder moves the Pod whose failure was reported first",
    { faults: ["crash-together", "crash-together"] },
    () => {
      remove("settle-blame");
      changeRecord("end-epoch", (record, { group }) => {
        const [target] = [...group.losses.keys()];
        return target === undefined ? record : { ...record, action: "RecreatePod", target };
      });
    },
    /^pod-\d+ was moved, although pod-\d+ failed first in epoch \d+$/,
  ],
  [
    "the barrier lifts before every Pod is back",
    { faults: ["kill-worker"] },
    () =>
      plant("lift-barrier", ({ status }) => {
        if (status.deprecatedEpoch < status.syncedEpoch) return undefined;
        return { status: { ...status, syncedEpoch: status.syncedEpoch + 1 }, notices: [] };
      }),
    /^worker of train-\S+ started in epoch \d+ (before slot|while)/,
  ],
  [
    "agents are told an epoch that is not synced yet",
    { faults: ["kill-worker"] },
    () => tellAgents((epochs) => ({ ...epochs, syncedEpoch: epochs.deprecatedEpoch + 1 })),
    /^agents were told deprecated 0, synced 1, held , but version \d+ says deprecated 0, synced 0, held $/,
  ],
  [
    "agents are told an epoch again that has ended",
    { faults: ["kill-worker"] },
    () => {
      const first = new Map<number, GroupEpoch>();
      tellAgents((epochs) => {
        const earlier = first.get(1) ?? epochs;
        if (epochs.syncedEpoch === 1) first.set(1, earlier);
        return epochs.syncedEpoch > 1 ? { ...earlier, version: epochs.version } : epochs;
      });
    },
    /^agents were told deprecated 0, synced 1, held , but version \d+ says deprecated \d+, synced 2, held $/,
  ],
  [
    "a controller with an older view changes what agents were told",
    // The old leader must learn of the end of an epoch just after the new one has told agents of the next.
    { faults: ["slow-watches", "kill-worker", "second-leader"], apart: 800, runs: 150 },
    () =>
      vi.mocked(patchGroupEpoch).mockImplementation(({ api, judge }, next) => () => {
        const stored = api.get("groupEpoch", next.metadata.name);
        if (stored === undefined) return "not-found";
        judge.agentsTold(stored, next);
        api.set("groupEpoch", next.metadata.name, next);
        return "done";
      }),
    /^agents were told version \d+ after version \d+$/,
  ],
  [
    "a restart is never completed",
    { faults: ["kill-worker"] },
    () => plant("hold-barrier", ({ status }) => (status.syncedEpoch > 0 ? { status, notices: [] } : undefined)),
    /^the group did not come back: between two epochs$/,
  ],
  [
    "a group that hangs is not restarted",
    { faults: ["hang-worker"], hangAfterMs: HANG_AFTER_MS },
    () => remove("judge-hang"),
    /^the group did not come back: train-\S+ hangs$/,
  ],
  [
    "a group is restarted for a hang although its workers move again",
    { faults: ["pause-workers"], hangAfterMs: HANG_AFTER_MS },
    () => {
      const reportedAt = new WeakMap<Context["group"], number>();
      plant("judge-hang", ({ group, status, now, rule }) => {
        if (group.hanging.size > 0 && !reportedAt.has(group)) reportedAt.set(group, now);
        const isLate = now - (reportedAt.get(group) ?? now) > HANG_AFTER_MS;
        return isLate && epochRuns(status) ? hungStep(status, rule) : undefined;
      });
    },
    /^epoch \d+ ended for a hang while train-\S+ moves$/,
  ],
  [
    "another Pod than the one that hangs is blamed",
    { faults: ["hang-worker"], hangAfterMs: HANG_AFTER_MS },
    () =>
      changeRecord("judge-hang", (record, { group }) => {
        const other = [...group.members.values()].find(({ pod }) => pod.name !== record.cause.pod);
        return { ...record, cause: { ...record.cause, pod: other?.pod.name ?? "" } };
      }),
    /^train-\S+ was blamed for the hang of train-\S+$/,
  ],
  [
    "a hang restarts a group twice",
    { faults: ["hang-worker"], hangAfterMs: HANG_AFTER_MS },
    () => {
      const restarted = new WeakSet<Context["group"]>();
      plant("judge-hang", (context, original) => {
        const step = original(context);
        if (step !== undefined) restarted.add(context.group);
        const again = restarted.has(context.group) && context.status.phase === "Running";
        return step ?? (again && epochRuns(context.status) ? hungStep(context.status, context.rule) : undefined);
      });
    },
    /^epoch \d+ ended for a hang while train-\S+ moves$/,
  ],
];

/** Ends the epoch for a hang, whatever the workers do. */
function hungStep(status: Context["status"], rule: string): Step {
  const cause = { reason: "Hung" } as const;
  const record = { cause, action: "RestartInPlace", rule, fromEpoch: status.syncedEpoch, counted: true } as const;
  const history = [...status.history, record].slice(-10);
  return { status: { ...status, history, deprecatedEpoch: status.syncedEpoch }, notices: [] };
}

describe("the simulator finds", () => {
  it.each(PLANTS)("that %s", (_, setting, sabotage, breach) => {
    expect(breachesOf(setting).filter((each) => breach.test(each))).toEqual([]);
    sabotage();
    expect(breachesOf(setting).filter((each) => breach.test(each))).not.toEqual([]);
  });
});
