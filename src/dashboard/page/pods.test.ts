import { expect, test } from "vitest";
import { POD_STATES } from "../view/wire.ts";
import { Pods } from "./pods.ts";

const [RUNNING, BARRIER] = [POD_STATES.indexOf("running"), POD_STATES.indexOf("barrier")];

function twoStages(): Pods {
  const pods = new Pods();
  const added = [
    [7, "w-1", "workers", 0, 10, "n", RUNNING, 1, 0],
    [8, "w-0", "workers", 0, 2, "n", RUNNING, 1, 0],
    [9, "d", "driver", 0, 0, "n", RUNNING, 1, 0],
  ] as const;
  expect(pods.apply({ now: 0, reset: true, added, changed: [], removed: [] })).toBe("all");
  return pods;
}

test("Pods are in the order of their slots, by number and not by text", () => {
  const pods = twoStages();
  expect(pods.ordered.map(({ name }) => name)).toEqual(["d", "w-0", "w-1"]);
  expect(pods.ordered.map(({ position }) => position)).toEqual([0, 1, 2]);
  expect(pods.stages).toEqual([
    { name: "driver", first: 0, count: 1 },
    { name: "workers", first: 1, count: 2 },
  ]);
});

test("only the Pods that have changed are drawn again", () => {
  const pods = twoStages();
  const changed = [
    [8, "n", BARRIER, 2, 1],
    [99, "n", BARRIER, 2, 1],
  ] as const;
  const redraw = pods.apply({ now: 0, reset: false, added: [], changed, removed: [] });
  expect(redraw).toEqual([expect.objectContaining({ name: "w-0", state: "barrier", epoch: 2, restarts: 1 })]);
  expect(pods.countByState()).toEqual(
    new Map([
      ["running", 2],
      ["barrier", 1],
    ]),
  );
  expect(pods.next(1, ({ state }) => state === "barrier")?.name).toBe("w-0");
});

test("everything is drawn again when a Pod goes, and a new view replaces the old one", () => {
  const pods = twoStages();
  expect(pods.apply({ now: 0, reset: false, added: [], changed: [], removed: [9] })).toBe("all");
  expect(pods.ordered.map(({ id }) => id)).toEqual([8, 7]);
  pods.apply({ now: 0, reset: true, added: [], changed: [], removed: [] });
  expect(pods.ordered).toEqual([]);
});
