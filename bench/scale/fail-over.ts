// Measures what a change of leader in the middle of a restart costs the group: its Pods are back later, and the restart
// must be counted once all the same.

import { markdownTable } from "../../scripts/docs/generated-part.ts";
import { IN_PLACE_RESTART, readInPlaceRestart } from "../../src/api/in-place-restart.ts";
import { asMap } from "../../src/json/fields.ts";
import { waitFor } from "../../test/cluster/proc.ts";
import type { RunningProgram } from "../../test/cluster/processes.ts";
import { median } from "../quantile.ts";
import { type Plane, startPlane } from "./plane.ts";
import { LIMIT_MS, untilQuiet } from "./restart.ts";
import type { Size } from "./size.ts";

/** What happens to the leader, and when: at this share of published epochs. */
const CASES = {
  "no change of leader": undefined,
  "leader stops (SIGTERM), half of the epochs published": { signal: "SIGTERM", share: 0.5 },
  "leader dies (SIGKILL), half of the epochs published": { signal: "SIGKILL", share: 0.5 },
  // The worst moment: from here on everything waits for the controller.
  "leader dies (SIGKILL), all but a few epochs published": { signal: "SIGKILL", share: 0.98 },
} as const;

type Case = keyof typeof CASES;
const NAMES = Object.keys(CASES) as Case[];

const ROUNDS = 3;

/** Median seconds from the failure until all barriers are lifted. */
export type FailOverTimes = ReadonlyMap<Case, number>;

export async function measureFailOver(size: Size): Promise<FailOverTimes> {
  const plane = await startPlane("reprise", size);
  const times = new Map(NAMES.map((name): [Case, number[]] => [name, []]));
  try {
    const candidates = new Candidates(plane);
    await candidates.standBy();
    for (let round = 0; round < ROUNDS; round++) {
      for (const name of NAMES) {
        await untilQuiet(plane);
        const seconds = await restartWith(plane, size, candidates, name);
        console.log(`  ${name}: all barriers lifted after ${seconds.toFixed(2)} s`);
        times.get(name)?.push(seconds);
      }
    }
  } finally {
    await plane.stop();
  }
  return new Map([...times].map(([name, each]) => [name, median(each)]));
}

/** For the gates: how much longer each restart took than one without a change of leader. */
export function figuresOfFailOver(times: FailOverTimes): Record<string, number> {
  const without = times.get("no change of leader") ?? Number.NaN;
  const changes = [...times].filter(([name]) => CASES[name] !== undefined);
  return Object.fromEntries(changes.map(([name, seconds]) => [`${name}, s longer`, seconds - without]));
}

export function markdownOfFailOver(times: FailOverTimes): string {
  return markdownTable(
    ["in the middle of a restart", "failure to all barriers lifted"],
    [...times].map(([name, seconds]) => [name, `${seconds.toFixed(2)} s`]),
  );
}

/** The controllers that run: the first one leads. */
class Candidates {
  readonly #plane: Plane;
  #leader: number;
  #standby: RunningProgram | undefined;
  #started = 0;

  constructor(plane: Plane) {
    this.#plane = plane;
    this.#leader = plane.pids()["reprise-controller"] ?? 0;
  }

  async standBy(): Promise<void> {
    this.#started += 1;
    this.#standby = await this.#plane.runController(`reprise-controller-${this.#started}`);
  }

  end(signal: "SIGTERM" | "SIGKILL"): void {
    process.kill(this.#leader, signal);
    this.#leader = this.#standby?.pid ?? 0;
  }
}

async function restartWith(plane: Plane, { pods }: Size, candidates: Candidates, name: Case): Promise<number> {
  const { fleet } = plane;
  const change = CASES[name];
  const before = await countedRestarts(plane);
  const limit = LIMIT_MS.least + pods * LIMIT_MS.perPod;
  const failedAt = await fleet.fail();
  if (change !== undefined) {
    const isDue = async () => (await fleet.state()).published >= pods * change.share;
    await waitFor(`${change.share} of ${pods} Pods have published`, limit, isDue);
    candidates.end(change.signal);
  }
  await waitFor(`${pods} Pods are lifted`, limit, async () => (await fleet.state()).lifted === pods);
  const { last } = await fleet.state();
  await waitFor(`${pods} Pods run`, limit, async () => (await fleet.state()).running === pods);
  await waitFor("the restart is counted", 30_000, async () => (await countedRestarts(plane)) > before);
  if (change !== undefined) await candidates.standBy();
  const counted = (await countedRestarts(plane)) - before;
  if (counted !== 1) throw new Error(`${name}: the restart was counted ${counted} times`);
  return (last.lifted - failedAt) / 1000;
}

/** Of all groups. */
async function countedRestarts({ client }: Plane): Promise<number> {
  const { group, version, plural } = IN_PLACE_RESTART;
  const { items } = await client.request("GET", `/apis/${group}/${version}/${plural}`);
  if (!Array.isArray(items)) throw new Error("the list of InPlaceRestarts has no items");
  return items.reduce<number>((sum, each) => sum + (readInPlaceRestart(asMap(each)).status?.restarts ?? 0), 0);
}
