import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type HangLimits,
  type Judgment,
  judge,
  look,
  type Progress,
  type Sighting,
  startProgress,
} from "./decide-progress.ts";

const at = (mono: number) => ({ mono, wall: 1_000_000 + mono });
const seen = (mark: string, step?: number): Sighting => ({
  kind: "seen",
  mark,
  ...(step === undefined ? {} : { step }),
});
const ABSENT: Sighting = { kind: "absent" };
const UNREADABLE: Sighting = { kind: "unreadable", reason: "EACCES" };

/** One look per second, from the first second on. */
function watch(sightings: readonly Sighting[], before: Sighting = ABSENT): Progress {
  return sightings.reduce(
    (progress, sighting, index) => look(progress, sighting, at((index + 1) * 1_000)),
    startProgress(before, at(0)),
  );
}

function judgments(sightings: readonly Sighting[], limits: HangLimits, before?: Sighting): readonly Judgment[] {
  return sightings.map((_, index) => judge(watch(sightings.slice(0, index + 1), before), limits));
}

const times = (count: number, sighting: Sighting) => Array.from({ length: count }, () => sighting);
const LIMITS: HangLimits = { hangAfter: 3_000 };

describe("a worker that reports its progress", () => {
  it("has stopped when it has shown none for the limit, and moves again with the next sign", () => {
    expect(judgments([seen("a"), ...times(3, seen("a")), seen("b")], LIMITS)).toEqual([
      "moving",
      "moving",
      "moving",
      "stopped",
      "moving",
    ]);
  });

  it("keeps its last step, and the time when it reached it", () => {
    const progress = watch([seen("a", 7), seen("b", 8), seen("b", 8), seen("b", 8)]);
    expect(progress).toMatchObject({ armed: true, step: 8, since: at(2_000).wall, stalledMs: 2_000 });
  });

  it("is not judged while its file cannot be read, nor when it is gone", () => {
    for (const problem of [UNREADABLE, ABSENT])
      expect(judgments([seen("a"), ...times(9, problem)], LIMITS)).not.toContain("stopped");
  });

  it("has not stopped because of time in which nothing was read", () => {
    const sightings = [seen("a"), ...times(9, UNREADABLE), seen("a")];
    expect(judgments(sightings, LIMITS).at(-1)).toBe("moving");
  });

  it("has not stopped because its node was frozen", () => {
    const thawed = look(watch([seen("a")]), seen("a"), at(3_600_000));
    expect(judge(thawed, { hangAfter: 60_000 })).toBe("moving");
    expect(thawed.stalledMs).toBe(5_000);
  });
});

describe("a worker that has reported nothing in this epoch", () => {
  it("is silent after the limit, whatever an earlier epoch has left", () => {
    expect(judgments(times(4, seen("old")), LIMITS, seen("old"))).toEqual(["moving", "moving", "silent", "silent"]);
    expect(judgments(times(4, ABSENT), LIMITS)).toEqual(["moving", "moving", "silent", "silent"]);
    expect(judgments(times(4, UNREADABLE), LIMITS)).toEqual(["moving", "moving", "silent", "silent"]);
  });

  it("is not taken for one that reports because the first look came late", () => {
    expect(watch(times(4, seen("old")), UNREADABLE).armed).toBe(false);
    expect(look(startProgress(undefined, at(0)), seen("old"), at(1_000)).armed).toBe(false);
  });

  it("has not started after the start deadline, which replaces the limit", () => {
    const limits: HangLimits = { hangAfter: 2_000, startDeadline: 4_000 };
    expect(judgments(times(5, ABSENT), limits)).toEqual(["moving", "moving", "moving", "unstarted", "unstarted"]);
    expect(judgments(times(5, UNREADABLE), limits).at(-1)).toBe("silent");
    expect(judgments([...times(4, ABSENT), seen("a")], limits).at(-1)).toBe("moving");
  });
});

describe("a learned limit", () => {
  const LEARNED: HangLimits = { hangAfter: "learned" };
  it("is ten minutes at least", () => {
    const progress = { ...startProgress(ABSENT, at(0)), armed: true };
    expect(judge({ ...progress, stalledMs: 599_999 }, LEARNED)).toBe("moving");
    expect(judge({ ...progress, stalledMs: 600_000 }, LEARNED)).toBe("stopped");
  });

  it("is five times the longest pause", () => {
    const paused = watch([seen("a"), ...times(40, seen("a")), seen("b"), ...times(9, seen("b")), seen("c")]);
    expect(paused.longestMs).toBe(41_000);
    const progress = { ...startProgress(ABSENT, at(0)), armed: true, longestMs: 200_000 };
    expect(judge({ ...progress, stalledMs: 999_999 }, LEARNED)).toBe("moving");
    expect(judge({ ...progress, stalledMs: 1_000_000 }, LEARNED)).toBe("stopped");
  });
});

describe("whatever is seen", () => {
  const sightings = fc.array(
    fc.record({
      gap: fc.integer({ min: 0, max: 20_000 }),
      sighting: fc.oneof(
        fc.constantFrom("a", "b").map((mark) => seen(mark)),
        fc.constant(ABSENT),
        fc.constant(UNREADABLE),
      ),
    }),
    { maxLength: 40 },
  );

  it("no worker has stopped whose mark has changed within the limit", () => {
    fc.assert(
      fc.property(sightings, fc.integer({ min: 1_000, max: 30_000 }), (looks, hangAfter) => {
        let progress = startProgress(ABSENT, at(0));
        let [now, changedAt, last] = [0, 0, ""];
        for (const { gap, sighting } of looks) {
          now += gap;
          progress = look(progress, sighting, at(now));
          const mark = sighting.kind === "seen" ? sighting.mark : last;
          if (mark !== last) changedAt = now;
          last = mark;
          if (judge(progress, { hangAfter }) !== "stopped") continue;
          expect(sighting.kind).toBe("seen");
          expect(now - changedAt).toBeGreaterThanOrEqual(hangAfter);
        }
      }),
    );
  });
});
