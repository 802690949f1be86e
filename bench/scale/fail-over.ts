// Measures what a change of leader in the middle of a restart costs the group: its Pods are back later, and the restart
// must be counted once all the same.

import { readFileSync } from "node:fs";
import { markdownTable } from "../../scripts/docs/generated-part.ts";
import { IN_PLACE_RESTART, readInPlaceRestart } from "../../src/api/in-place-restart.ts";
import { asMap } from "../../src/json/fields.ts";
import { waitFor } from "../../test/cluster/proc.ts";
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

export interface FailOver {
  /** Median seconds from the failure until all barriers are lifted. */
  readonly times: ReadonlyMap<Case, number>;
  /** Times that a leader lost its Lease although nothing had happened to it. */
  readonly lostTerms: number;
}

export async function measureFailOver(size: Size): Promise<FailOver> {
  const plane = await startPlane("reprise", size);
  const times = new Map(NAMES.map((name): [Case, number[]] => [name, []]));
  let lostTerms = 0;
  try {
    await plane.standBy();
    for (let round = 0; round < ROUNDS; round++) {
      for (const name of NAMES) {
        await untilQuiet(plane);
        const seconds = await restartWith(plane, size, name);
        console.log(`  ${name}: all barriers lifted after ${seconds.toFixed(2)} s`);
        times.get(name)?.push(seconds);
      }
    }
    const changes = NAMES.filter((name) => CASES[name] !== undefined).length * ROUNDS;
    lostTerms = terms(plane) - 1 - changes;
  } finally {
    await plane.stop();
  }
  return { times: new Map([...times].map(([name, each]) => [name, median(each)])), lostTerms };
}

/** For the gates: how much longer each restart took than one without a change of leader. */
export function figuresOfFailOver({ times, lostTerms }: FailOver): Record<string, number> {
  const without = times.get("no change of leader") ?? Number.NaN;
  const changes = [...times].filter(([name]) => CASES[name] !== undefined);
  const longer = changes.map(([name, seconds]) => [`${name}, s longer`, seconds - without]);
  return { ...Object.fromEntries(longer), "terms lost under load": lostTerms };
}

export function markdownOfFailOver({ times }: FailOver): string {
  return markdownTable(
    ["in the middle of a restart", "failure to all barriers lifted"],
    [...times].map(([name, seconds]) => [name, `${seconds.toFixed(2)} s`]),
  );
}

/** How often a controller has begun to lead. One that loses its Lease to a slow API server begins again. */
function terms({ controllers }: Plane): number {
  return controllers.reduce(
    (sum, { logFile }) => sum + readFileSync(logFile, "utf8").split("started leading").length - 1,
    0,
  );
}

async function restartWith(plane: Plane, { pods }: Size, name: Case): Promise<number> {
  const { fleet } = plane;
  const change = CASES[name];
  const before = await countedRestarts(plane);
  const limit = LIMIT_MS.least + pods * LIMIT_MS.perPod;
  const failedAt = await fleet.fail();
  if (change !== undefined) {
    const isDue = async () => (await fleet.state()).published >= pods * change.share;
    await waitFor(`${change.share} of ${pods} Pods have published`, limit, isDue);
    // The older of two is the leader.
    process.kill(plane.controllers.at(-2)?.pid ?? 0, change.signal);
  }
  await waitFor(`${pods} Pods are lifted`, limit, async () => (await fleet.state()).lifted === pods);
  const { last } = await fleet.state();
  await waitFor(`${pods} Pods run`, limit, async () => (await fleet.state()).running === pods);
  await waitFor("the restart is counted", 30_000, async () => (await countedRestarts(plane)) > before);
  if (change !== undefined) await plane.standBy();
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
