import { describe, expect, it } from "vitest";
import type { GroupEpoch } from "../src/api/group-epoch.ts";
import { readInPlaceRestart } from "../src/api/in-place-restart.ts";
import { readJobSet } from "../src/api/jobset.ts";
import { afterTelling, epochsFor, nextTelling, type Told } from "./tell-agents.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

function epochs(version: number, deprecatedEpoch: number, syncedEpoch: number, ...heldStages: string[]): GroupEpoch {
  return { version, deprecatedEpoch, syncedEpoch, heldStages };
}

function told(what: GroupEpoch, at = 0): Told {
  return afterTelling("owner", what, undefined, at);
}

describe("what agents are told", () => {
  const jobSet = readJobSet({ metadata: { name: "train", uid: "js" }, spec: {} });
  const status = { deprecatedEpoch: 1, syncedEpoch: 2, heldStages: ["evaluators"], restarts: 7, phase: "Running" };
  const object = (jobSetUID: string, change: object = { status }) =>
    readInPlaceRestart({ metadata: { uid: "owner", resourceVersion: "41" }, spec: { jobSetUID }, ...change });

  it("is the epochs of the InPlaceRestart, with its version", () => {
    expect(epochsFor(jobSet, object("js"))).toEqual(epochs(41, 1, 2, "evaluators"));
  });

  it("is nothing before there are epochs, and nothing of an earlier JobSet", () => {
    expect(epochsFor(jobSet, undefined)).toBeUndefined();
    expect(epochsFor(jobSet, object("js", {}))).toBeUndefined();
    expect(epochsFor(jobSet, object("earlier"))).toBeUndefined();
  });
});

describe("agents are told", () => {
  it.each([
    ["that an epoch has ended", epochs(6, 4, 4)],
    ["that an epoch begins", epochs(6, 3, 5)],
    ["that a stage is held", epochs(6, 3, 4, "evaluators")],
  ])("at once %s", (_what, next) => {
    expect(nextTelling("owner", next, told(epochs(5, 3, 4)), 0)).toEqual({ kind: "tell", epochs: next });
  });

  it("that a stage is released", () => {
    const next = epochs(6, 3, 4, "b");
    expect(nextTelling("owner", next, told(epochs(5, 3, 4, "a", "b")), 0)).toEqual({ kind: "tell", epochs: next });
  });

  it("whatever there is, by a controller that has told them nothing yet", () => {
    const next = epochs(6, 3, 4);
    expect(nextTelling("owner", next, undefined, 0)).toEqual({ kind: "tell", epochs: next });
  });

  it("the epochs of a new InPlaceRestart, also if they are the same", () => {
    const next = epochs(9, 3, 4);
    expect(nextTelling("next", next, told(epochs(5, 3, 4)), 0)).toEqual({ kind: "tell", epochs: next });
  });

  it("nothing when only what people see has changed", () => {
    expect(nextTelling("owner", epochs(6, 3, 4), told(epochs(5, 3, 4)), 0)).toEqual({ kind: "rest", ms: 5 * MINUTE });
  });

  it("nothing of an older version, which a watch that lags shows after a write", () => {
    const known = told(epochs(6, 4, 4));
    expect(nextTelling("owner", epochs(5, 3, 4), known, 0)).toEqual({ kind: "rest", ms: 10 * SECOND });
  });
});

describe("what agents were told is confirmed", () => {
  /** The times of all confirmations within an hour, in seconds. */
  function confirmations(what: GroupEpoch): readonly number[] {
    const times: number[] = [];
    let known = told(what);
    for (let now = 0; ; ) {
      // A newer version with the same epochs.
      const next = nextTelling("owner", { ...what, version: what.version + 1 }, known, now);
      if (next.kind === "rest") now += next.ms;
      else {
        expect(next.epochs).toEqual(what);
        known = afterTelling("owner", next.epochs, known, now);
        times.push(now / SECOND);
      }
      if (now > 60 * MINUTE) return times;
    }
  }

  it("every five minutes while an epoch runs, in the version that was told, so that nothing changes", () => {
    expect(confirmations(epochs(5, 3, 4)).slice(0, 3)).toEqual([300, 600, 900]);
  });

  it.each([
    ["between two epochs", epochs(5, 4, 4)],
    ["while a stage is held", epochs(5, 3, 4, "evaluators")],
  ])("sooner %s, and less and less often", (_when, what) => {
    expect(confirmations(what).slice(0, 8)).toEqual([10, 20, 40, 80, 160, 320, 620, 920]);
  });
});
