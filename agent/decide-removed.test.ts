import { describe, expect, it } from "vitest";
import { afterAnswer, mayStartAlone, type Removal, type TypeState, typeStateIn } from "./decide-removed.ts";

type Answer = readonly [second: number, state: TypeState];

/** What the agents of one Pod know after these answers. */
function known(answers: readonly Answer[], inherited?: Removal): Removal | undefined {
  return answers.reduce<Removal | undefined>((removal, [now, state]) => afterAnswer(removal, state, now), inherited);
}

/** Whether the last of these answers lets the workers start without their group. */
function startsAlone(answers: readonly Answer[], inherited?: Removal): boolean {
  return mayStartAlone(known(answers, inherited), answers.at(-1)?.[1] ?? "unknown");
}

function every10(from: number, to: number): Answer[] {
  return Array.from({ length: (to - from) / 10 + 1 }, (_, i) => [from + 10 * i, "gone"]);
}

describe("workers start without their group", () => {
  it("once the API server has said for two minutes that the type is gone", () => {
    expect(startsAlone(every10(1_000, 1_110))).toBe(false);
    expect(startsAlone(every10(1_000, 1_120))).toBe(true);
  });

  it.each<TypeState>(["unknown", "served"])("two minutes after the last answer that was not it: %s", (state) => {
    const interrupted: Answer[] = [...every10(1_000, 1_100), [1_105, state], ...every10(1_110, 1_220)];
    expect(startsAlone(interrupted)).toBe(false);
    expect(startsAlone([...interrupted, [1_230, "gone"]])).toBe(true);
  });

  it("also if the Pod was restarted meanwhile, but not after an hour without an answer", () => {
    expect(startsAlone([...every10(1_000, 1_060), ...every10(1_090, 1_120)])).toBe(true);
    expect(startsAlone([...every10(1_000, 1_060), [4_660, "gone"]])).toBe(false);
  });

  it("not because the clock jumps, in either direction", () => {
    expect(startsAlone([...every10(1_000, 1_010), [9_000, "gone"]])).toBe(false);
    expect(startsAlone([...every10(1_000, 1_060), ...every10(500, 610)])).toBe(false);
  });

  it("at the first answer if an earlier agent of the Pod has proven it, and only at an answer", () => {
    const proven = known(every10(1_000, 1_120));
    expect(startsAlone([[9_000, "gone"]], proven)).toBe(true);
    expect(startsAlone([[9_000, "unknown"]], proven)).toBe(false);
    expect(startsAlone([...every10(9_000, 9_000), [9_010, "unknown"], [9_020, "gone"]], proven)).toBe(true);
  });

  it("never again on an old proof once the type is served again", () => {
    const proven = known(every10(1_000, 1_120));
    expect(known([[9_000, "served"]], proven)).toBeUndefined();
    expect(startsAlone([[9_000, "served"], ...every10(9_010, 9_020)], proven)).toBe(false);
  });
});

describe("the API server's list of resource types", () => {
  const list = (...names: string[]) => ({ kind: "APIResourceList", resources: names.map((name) => ({ name })) });

  it.each<[string, unknown, TypeState]>([
    ["names the type", list("groupepochs", "groupepochs/status"), "served"],
    ["names other types only", list("others"), "gone"],
    ["names only a subresource", list("groupepochs/status"), "gone"],
    ["is empty", { kind: "APIResourceList" }, "gone"],
    ["is something else, such as the answer of a proxy", { kind: "Status", code: 200 }, "unknown"],
    ["is no object", "ok", "unknown"],
  ])("%s", (_what, answer, state) => {
    expect(typeStateIn(answer, "groupepochs")).toBe(state);
  });
});
