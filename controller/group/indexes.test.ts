// The indexes of a group against a search through all of its Pods and losses, after every event of random histories.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import type { Job } from "../../src/api/job.ts";
import { AGENT, ANNOTATION } from "../../src/api/names.ts";
import type { ContainerState, Pod } from "../../src/api/pod.ts";
import { awaitedTermination, overdueNext } from "../status/awaited-termination.ts";
import { reportLeftovers } from "../status/shared-memory.ts";
import { HEALTHY_CLUSTER } from "../stuck-pods/surroundings.ts";
import { DISRUPTED, Scene } from "../testing/scene.ts";
import { epochOf, livePods } from "./epochs.ts";
import { isDeparture, isFresh, proofs, proofTest, requestedProofs } from "./evidence.ts";
import { graceOverNext, isWorkBeingSaved, OVERDUE_MS } from "./grace.ts";
import type { Group, Member } from "./group.ts";
import { leftoversText } from "./leftovers.ts";
import { isFinishing, jobState, memberState, unknownJobState } from "./membership.ts";
import { ownCrashOf } from "./own-crash.ts";
import { isInside } from "./slots.ts";

const JOBS = ["workers-0", "workers-1", "driver-0"];
const NODES = ["n0", "n1", "n2"];
const SLOTS = JOBS.flatMap((job) => [`${job}/0`, `${job}/0#2`, `${job}/1`]);
const LOST = new Map([["n2", { since: "2026-01-01T00:00:00Z" }]]);
/** The clock of a scene begins here. */
const BEGIN = Date.UTC(2026, 0, 1);

type Event = (scene: Scene) => unknown;

const state: fc.Arbitrary<ContainerState> = fc.oneof(
  fc.constant<ContainerState>({ kind: "running" }),
  fc.constant<ContainerState>({ kind: "waiting", reason: "PodInitializing" }),
  fc.constantFrom(0, 1, 3, 4, 137).map((exitCode): ContainerState => ({ kind: "terminated", exitCode, reason: "" })),
);

const containers: fc.Arbitrary<Pod["containers"]> = fc
  .record({ worker: state, agent: state, run: fc.constantFrom("a", "b", "c"), restartCount: fc.nat(3) })
  .map(({ worker, agent, run, restartCount }) => {
    const common = { containerID: run, restartCount, started: true, ready: true };
    return [
      { ...common, name: AGENT.container, init: true, state: agent },
      { ...common, name: "main", init: false, state: worker },
    ];
  });

const podChange: fc.Arbitrary<Partial<Pod>> = fc.oneof(
  { weight: 4, arbitrary: containers.map((some) => ({ phase: "Running" as const, containers: some })) },
  { weight: 3, arbitrary: fc.nat(4).map((epoch) => ({ epoch: { kind: "present" as const, epoch } })) },
  fc.constant<Partial<Pod>>({ epoch: { kind: "malformed", text: "x" } }),
  fc.constantFrom("Failed", "Succeeded", "Pending").map((phase) => ({ phase })),
  fc.constantFrom(...NODES).map((node) => ({ node })),
  fc.constantFrom(-20, 0, 30, 31).map((seconds) => {
    const timestamp = new Date(BEGIN + seconds * 1_000).toISOString();
    return { deletion: { timestamp, graceSeconds: 30 } };
  }),
  fc.constant<Partial<Pod>>({ deletion: { timestamp: "never", graceSeconds: 0 } }),
  fc.constant<Partial<Pod>>({ conditions: [DISRUPTED] }),
  fc.constant<Partial<Pod>>({ conditions: [{ type: "Ready", status: "True", reason: "", message: "" }] }),
  fc.constantFrom(1, 16, 17, 32, 64).map((mebibytes) => ({ shmLeftoverBytes: mebibytes * 2 ** 20 })),
);

const jobChange: fc.Arbitrary<Partial<Job>> = fc.oneof(
  fc.nat(2).map((ready) => ({ ready })),
  fc.boolean().map((suspended) => ({ suspended })),
  fc.constantFrom(1, 2).map((parallelism) => ({ parallelism })),
  fc.constantFrom("Complete", "Failed", "none").map((outcome) => ({ outcome })),
  fc.constant<Partial<Job>>({ completedIndexes: [{ first: 0, last: 0 }] }),
  fc.constant<Partial<Job>>({ deletionTimestamp: "2026-01-01T00:00:00Z" }),
);

const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 12, arbitrary: pick(SLOTS, podChange, (scene, slot, change) => scene.pod(slot, change)) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(...SLOTS).map(
      (slot): Event =>
        (scene) =>
          scene.forgetPod(slot),
    ),
  },
  { weight: 2, arbitrary: pick(JOBS, jobChange, (scene, job, change) => scene.job(job, change)) },
  fc.constantFrom(...JOBS).map(
    (job): Event =>
      (scene) =>
        scene.forgetJob(job),
  ),
  { weight: 2, arbitrary: fc.constant<Event>((scene) => scene.settle()) },
  fc.nat(4).map(
    (epoch): Event =>
      (scene) =>
        scene.store({ jobSetUID: "js" }, statusAt(epoch)),
  ),
  fc.boolean().map(
    (suspended): Event =>
      (scene) =>
        scene.changeJobSet({ suspended }),
  ),
  fc.constantFrom("js", "js2").map(
    (uid): Event =>
      (scene) =>
        scene.changeJobSet({ uid }),
  ),
  fc.constantFrom(1, 1_000, 16_000).map((ms): Event => {
    return (scene) => {
      scene.now += ms;
    };
  }),
);

function pick<T>(
  names: readonly string[],
  change: fc.Arbitrary<T>,
  apply: (scene: Scene, name: string, change: T) => void,
): fc.Arbitrary<Event> {
  const choice = fc.record({ name: fc.constantFrom(...names), what: change });
  return choice.map(
    ({ name, what }): Event =>
      (scene) =>
        apply(scene, name, what),
  );
}

function statusAt(syncedEpoch: number): InPlaceRestartStatus {
  const deprecatedEpoch = Math.max(0, syncedEpoch - 1);
  const rest = { heldStages: [], restarts: 0, phase: "Running", ready: "", history: [], conditions: [] } as const;
  return { deprecatedEpoch, syncedEpoch, ...rest };
}

function newScene(): Scene {
  const annotations = { [ANNOTATION.recreateExitCodes]: "3", [ANNOTATION.failExitCodes]: "4" };
  const stages = { workers: { pods: 2, replicas: 2 }, driver: { pods: 2 } };
  const scene = new Scene(stages, { annotations }, { ...HEALTHY_CLUSTER, unreachable: LOST }).settle();
  for (const job of JOBS) scene.job(job);
  return scene.at(1, ...SLOTS.filter((slot) => !slot.includes("#"))).settle();
}

/** Calls `check` after every event of many histories. */
function afterEachEvent(check: (scene: Scene) => void): void {
  fc.assert(
    fc.property(fc.array(event, { minLength: 1, maxLength: 40 }), (events) => {
      const scene = newScene();
      for (const happens of events) {
        happens(scene);
        check(scene);
      }
    }),
    { numRuns: 400 },
  );
}

/** As a search through everything finds them. */
function searched(group: Group) {
  const members = [...group.members.values()];
  const uids = (holds: (member: Member) => boolean) => new Set(members.filter(holds).map(({ pod }) => pod.uid));
  const saving = members.flatMap((member) => {
    const { savesUntil: until, pod } = member;
    return until === undefined ? [] : [[until, epochOf(member), pod.replicatedJob, pod.node ?? ""].join()];
  });
  const losses = [...group.losses.values()].map((loss) => {
    const { epoch, stage, requestedAction, counted } = loss;
    return [epoch, stage, requestedAction, counted, isDeparture(loss), isFresh(group, loss), ownCrashOf(loss)].join();
  });
  return {
    ending: uids(({ state: each }) => each === "ending"),
    malformed: uids(({ pod }) => pod.epoch.kind === "malformed"),
    finishing: uids(isFinishing),
    liveByEpoch: grouped(members, (member) => (member.state === "live" ? epochOf(member) : undefined)),
    podsByNode: grouped(members, ({ state: each, pod }) =>
      each === "live" || each === "ending" ? pod.node : undefined,
    ),
    terminating: grouped(members, ({ state: each, pod }) => {
      const end = Date.parse(pod.deletion?.timestamp ?? "");
      return each === "ending" && !Number.isNaN(end) ? end : undefined;
    }),
    podsByJob: grouped(members, ({ pod }) => pod.controller?.uid),
    saving: saving.sort(),
    requests: new Set(
      [...group.firstLosses].filter(([, loss]) => loss.requestedAction === "recreate").map(([uid]) => uid),
    ),
    lossTallies: losses.sort(),
  };
}

function indexed(group: Group): ReturnType<typeof searched> {
  const { ending, malformed, finishing, liveByEpoch, podsByNode, terminating, podsByJob } = group;
  const saving = [...group.saving.values()].flatMap(({ until, epoch, stage, nodes }) =>
    [...nodes].flatMap(([node, count]) => Array.from({ length: count }, () => [until, epoch, stage, node].join())),
  );
  const tallies = [...group.lossTallies.values()].flatMap(({ count, ...each }) => {
    const { epoch, stage, requestedAction, counted, departure, fresh, own } = each;
    const text = [epoch, stage, requestedAction, counted, departure, fresh, own].join();
    return Array.from({ length: count }, () => text);
  });
  const pods = { ending, malformed, finishing, liveByEpoch, podsByNode, terminating, podsByJob };
  return { ...pods, saving: saving.sort(), requests: group.requests, lossTallies: tallies.sort() };
}

function grouped<K>(members: readonly Member[], keyOf: (member: Member) => K | undefined): Map<K, Set<string>> {
  const byKey = new Map<K, Set<string>>();
  for (const member of members) {
    const key = keyOf(member);
    if (key === undefined) continue;
    byKey.set(key, new Set([...(byKey.get(key) ?? []), member.pod.uid]));
  }
  return byKey;
}

/** The state of each Pod, from its Job as it is now. */
function judgedStates({ members, jobs, jobSet, stages }: Group): unknown {
  return [...members.values()].map(({ pod }) => {
    const job = jobs.get(pod.controller?.uid ?? "")?.job;
    if (job === undefined) return memberState(pod, unknownJobState(pod, jobSet));
    return memberState(pod, jobState(job, jobSet, stages.get(job.replicatedJob)));
  });
}

/** The counts of the stages, from the members and the slots of the Jobs alone. */
function countedStages(group: Group): unknown {
  return [...group.stages].map(([name, tally]) => {
    const jobs = [...group.jobs.values()].filter(({ job }) => {
      return job.replicatedJob === name && jobState(job, group.jobSet, tally) === "counts";
    });
    const slots = jobs.flatMap((child) =>
      [...child.slots].filter(([index]) => isInside(child.job, index)).map(([, slot]) => slot),
    );
    const members = [...group.members.values()].filter(({ pod }) => {
      return group.jobs.get(pod.controller?.uid ?? "")?.job.replicatedJob === name;
    });
    const live = members.filter(({ state: each }) => each === "live");
    const epochs = live.map(epochOf).filter((epoch) => epoch !== undefined);
    return {
      name,
      startedJobs: jobs.length,
      startedSlots: jobs.reduce((sum, { job }) => sum + job.parallelism, 0),
      done: slots.filter(({ done }) => done).length,
      occupied: slots.filter(({ done, live: pods }) => done || pods.size > 0).length,
      ending: members.filter(({ state: each }) => each === "ending").length,
      running: live.filter(({ running }) => running).length,
      ready: live.filter(({ ready }) => ready).length,
      unpublished: live.length - epochs.length,
      unaddressed: live.filter(({ pod }) => pod.awaitsAddress).length,
      epochs: epochs.sort((a, b) => a - b),
    };
  });
}

function talliedStages(group: Group): unknown {
  return [...group.stages.values()].map(({ stage, epochs, ...counts }) => {
    const each = [...epochs].flatMap(([epoch, count]) => Array.from({ length: count }, () => epoch));
    return { name: stage.name, ...counts, epochs: each.sort((a, b) => a - b) };
  });
}

/** A search through all ending Pods. */
function savingPods({ members, surroundings }: Group, { syncedEpoch, heldStages }: InPlaceRestartStatus): number[] {
  return [...members.values()].flatMap((member) => {
    const { savesUntil: until, state: each, pod } = member;
    const isAwaited = !heldStages.includes(pod.replicatedJob) && !surroundings.unreachable.has(pod.node ?? "");
    return each === "ending" && until !== undefined && epochOf(member) === syncedEpoch && isAwaited ? [until] : [];
  });
}

describe("the indexes of a group", { timeout: 120_000 }, () => {
  it("hold what a search through all Pods and losses finds", () => {
    afterEachEvent(({ group }) => {
      expect(indexed(group)).toEqual(searched(group));
      expect(talliedStages(group)).toEqual(countedStages(group));
      expect([...group.members.values()].map(({ state: each }) => each)).toEqual(judgedStates(group));
    });
  });

  it("answer as a search does", () => {
    afterEachEvent(({ group, now }) => {
      const status = group.object?.status ?? statusAt(1);
      const isProof = proofTest(group, status, now);
      const proven = [...group.losses].filter(([, loss]) => isProof(loss));
      expect([...proofs(group, status, now)]).toEqual(proven);
      for (const action of ["restart", "recreate", "fail"] as const) {
        const requested = proven.filter(([, loss]) => loss.requestedAction === action);
        expect(requestedProofs(group, status, now, action)).toEqual(requested);
      }
      const ahead = (member: Member) => member.state === "live" && (epochOf(member) ?? 0) > status.syncedEpoch;
      const beyond = [...group.members.values()].filter(ahead);
      expect(livePods(group, (epoch) => epoch > status.syncedEpoch)).toEqual(beyond);
      const ends = savingPods(group, status).filter((until) => until > now);
      expect(isWorkBeingSaved(group, status, now)).toBe(ends.length > 0);
      expect(graceOverNext(group, status, now)).toBe(ends.length === 0 ? undefined : Math.min(...ends));
    });
  });

  it("name the Pods with new leftovers as a search does", () => {
    afterEachEvent(({ group }) => {
      const unreported = [...group.members].filter(([uid, { pod, state: each }]) => {
        const text = leftoversText(pod);
        return each === "live" && text !== undefined && group.reported.get(uid)?.get("SharedMemoryLeft") !== text;
      });
      const reported = reportLeftovers(group).map(({ pod }) => pod.uid);
      expect(reported.sort()).toEqual(unreported.map(([uid]) => uid).sort());
    });
  });

  it("name the Pods that are overdue as a search does", () => {
    afterEachEvent(({ group, now }) => {
      const terminating = [...group.members.values()].flatMap(({ pod, state: each }) => {
        const end = Date.parse(pod.deletion?.timestamp ?? "");
        return each === "ending" && !Number.isNaN(end) ? [{ pod, end }] : [];
      });
      const times = terminating.map(({ end }) => end + OVERDUE_MS).filter((time) => time > now);
      expect(overdueNext(group, now)).toBe(times.length === 0 ? undefined : Math.min(...times));
      const awaited = terminating.filter(({ pod, end }) => LOST.has(pod.node ?? "") || end + OVERDUE_MS <= now);
      const [first] = awaited.sort((a, b) => a.end - b.end || (a.pod.name < b.pod.name ? -1 : 1));
      const message = awaitedTermination(group, now)?.message;
      if (first === undefined) expect(message).toBeUndefined();
      else expect(message).toContain(`waiting for Pod ${first.pod.name} to terminate`);
      expect(message?.endsWith("; so do other Pods") === true).toBe(awaited.length > 1);
    });
  });
});
