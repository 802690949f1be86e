// Groups that fail again and again, on real kubelets: which Pod is blamed when all of them exit within milliseconds, and
// what earlier runs leave behind in a Pod.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { ANNOTATION } from "../../src/api/names.ts";
import { busyboxArchive } from "../cluster/parts/images.ts";
import { type GroupState, scripted, TrainingGroup, uids } from "./group.ts";
import { spread } from "./placement.ts";
import { type Installation, install } from "./reprise.ts";
import { connected, dependent, REST, SHARED_MOUNT_PATH, script } from "./scripts.ts";
import { SharedFolder } from "./shared-folder.ts";

// A test waits for ten restarts. Each wait has its own time limit, whose error says what it waited for.
vi.setConfig({ testTimeout: 600_000 });

/** An image whose own user is neither root nor that of the agent. */
const OTHER_USER = { image: "local/busybox-other-user:1", user: "4321" };

let installation: Installation;

beforeAll(async () => {
  // Escalation is tested here, the back-off is not.
  installation = await install({}, { controller: { backoff: { after: 10_000 } } });
  installation.cluster.load(busyboxArchive(`docker.io/${OTHER_USER.image}`, OTHER_USER.user));
});

afterAll(async () => {
  await installation?.end();
});

const FAILURES = 10;
const EPOCHS = Array.from({ length: FAILURES }, (_, index) => index + 1);

describe("one of four workers fails, and the others exit with 1 within milliseconds", () => {
  const VICTIM = 2;
  const PEERS = ["0", "1", "3"];

  /** One slot fails in each epoch of the plan. Then the group runs on. */
  async function failTenTimes(name: string, code: number, annotations: Readonly<Record<string, string>>) {
    const folder = new SharedFolder(installation.cluster, name);
    folder.connect(PEERS, EPOCHS);
    const fails = connected(PEERS, "sleep 1", `exit ${code}`);
    const loses = dependent("$JOB_COMPLETION_INDEX");
    const text = `if [ "$JOB_COMPLETION_INDEX" = ${VICTIM} ]; then ${fails}; else ${loses}; fi`;
    const group = await TrainingGroup.start(installation, name, {
      stages: { workers: 4 },
      maxRestarts: 100,
      annotations,
      podSpec: { workers: { ...folder.podSpec(scripted(text)), ...spread(name) } },
    });
    const first = await group.reached("starts", ({ pods }) => pods.length === 4);
    await group.reached("has failed five times", ({ syncedEpoch }) => syncedEpoch > FAILURES / 2);
    const last = await group.restarted(FAILURES + 1);
    await group.delete();
    return { name, code, first, last };
  }

  const isVictim = (pod: string) => pod.includes(`-workers-0-${VICTIM}-`);

  test("over 40 failures the wrong Pod is blamed at most twice, and the ladder moves no other", async () => {
    const groups = await Promise.all([
      failTenTimes("signal-in-place", 139, { [ANNOTATION.escalateAfter]: "0" }),
      // The sixth failure of the slot in a row moves its Pod.
      failTenTimes("signal-moved", 139, { [ANNOTATION.escalateAfter]: "6" }),
      failTenTimes("same-in-place", 1, { [ANNOTATION.escalateAfter]: "0" }),
      failTenTimes("same-moved", 1, { [ANNOTATION.escalateAfter]: "6" }),
    ]);
    const records = groups.flatMap(({ name, code, last }) => last.history.map((record) => ({ name, code, ...record })));
    expect(records).toHaveLength(groups.length * FAILURES);
    const blamed = records.flatMap(({ name, code, cause }) => (cause.pod === undefined ? [] : [{ name, code, cause }]));
    const wrong = blamed.filter(({ cause }) => !isVictim(cause.pod ?? ""));
    const right = blamed.filter(({ cause }) => isVictim(cause.pod ?? ""));
    const count = (of: typeof blamed, code: number) => of.filter((each) => each.code === code).length;
    for (const code of [139, 1]) {
      const nobody = records.filter((each) => each.code === code).length - count(right, code) - count(wrong, code);
      process.stdout.write(
        `victim exits with ${code}: blamed ${count(right, code)} times, a peer ${count(wrong, code)} times, ` +
          `nobody ${nobody} times\n`,
      );
    }
    expect(wrong.length, JSON.stringify(wrong)).toBeLessThanOrEqual(2);
    // The code tells it from its peers whenever the kubelets report it.
    expect(count(right, 139)).toBeGreaterThanOrEqual(FAILURES);
    for (const { cause } of records.filter((each) => each.cause.pod === undefined)) {
      const victim = expect.stringContaining(`-workers-0-${VICTIM}-`);
      expect(cause).toMatchObject({ candidates: expect.arrayContaining([victim]) });
    }
    for (const { first, last } of groups) expectOnlyVictimMoved(first, last);
  });

  /** A recreation by JobSet replaces every Pod. Otherwise the peers keep theirs. */
  function expectOnlyVictimMoved(first: GroupState, last: GroupState): void {
    if (last.history.some(({ action }) => action === "RecreateJobSet")) return;
    const peers = ({ pods }: GroupState) => pods.filter(({ name, phase }) => phase === "Running" && !isVictim(name));
    expect(peers(last).map(({ uid }) => uid)).toEqual(peers(first).map(({ uid }) => uid));
  }
});

// 64 MiB is what containerd gives a Pod.
describe.concurrent("a worker that leaves 20 MiB in a /dev/shm of 64 MiB in every run", () => {
  const FULL = 9;
  const leave = [
    `busybox dd if=/dev/zero of=/dev/shm/left-$REPRISE_EPOCH bs=1M count=20 2>/dev/null || exit ${FULL}`,
    `: > ${SHARED_MOUNT_PATH}/left-$REPRISE_EPOCH-$JOB_COMPLETION_INDEX`,
  ];
  const crash = `[ "$REPRISE_EPOCH" -gt ${FAILURES} ] || { sleep 1; exit 1; }`;
  const ifFirst = (command: string) => `[ "$JOB_COMPLETION_INDEX" != 0 ] || { ${command}; }`;

  test("survives ten restarts in the same Pod, if its user is known", async () => {
    const folder = new SharedFolder(installation.cluster, "known-user");
    const group = await TrainingGroup.start(installation, "known-user", {
      stages: { workers: 2 },
      maxRestarts: 100,
      annotations: { [ANNOTATION.escalateAfter]: "0" },
      podSpec: {
        workers: {
          ...folder.podSpec(scripted(script(...leave, ifFirst(crash), REST))),
          securityContext: { runAsUser: 1234 },
        },
      },
    });
    const first = await group.reached("starts", ({ pods }) => pods.length === 2);
    const last = await group.restarted(FAILURES + 1);
    expect(uids(last)).toEqual(uids(first));
    expect(last).toMatchObject({ restarts: FAILURES });
    // Both workers wrote all of it in every run.
    expect(folder.files("left-")).toHaveLength(2 * (FAILURES + 1));
    await group.delete();
  });

  test("survives ten restarts, some of them with a new Pod, if only its image knows its user", async () => {
    const folder = new SharedFolder(installation.cluster, "other-user");
    const text = script(ifFirst(leave.join("; ")), ifFirst(crash), REST);
    const group = await TrainingGroup.start(installation, "other-user", {
      stages: { workers: 2 },
      maxRestarts: 100,
      // The streak alone never asks for a new Pod.
      annotations: { [ANNOTATION.escalateAfter]: "50" },
      podSpec: { workers: folder.podSpec({ ...scripted(text), image: OTHER_USER.image }) },
    });
    await group.reached("has failed five times", ({ syncedEpoch }) => syncedEpoch > FAILURES / 2);
    const last = await group.restarted(FAILURES + 1);
    const moves = last.history.filter(({ action }) => action === "RecreatePod");
    expect(moves.length).toBeGreaterThan(0);
    for (const { cause } of moves) expect(cause.pod).toContain("other-user-workers-0-0-");
    expect(folder.has(`left-${FAILURES + 1}-0`)).toBe(true);
    await group.delete();
  });
});
