import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rasAnswer } from "../testing/ras-answer.ts";
import { readAnswer } from "./decide-nccl.ts";

const IPS = ["10.0.0.1", "fd00::1"];
const text = (communicators: Parameters<typeof rasAnswer>[0]) => rasAnswer(communicators);

describe("an answer of NCCL", () => {
  it("shows the count of the own rank that is furthest behind in the largest communicator", () => {
    const answer = text([
      { hash: "0x1", ranks: [{ rank: 0, host: "10.0.0.1", count: 90 }] },
      {
        hash: "0x2",
        ranks: [
          { rank: 0, host: "10.0.0.1", count: 12 },
          { rank: 1, host: "10.0.0.1", count: 11 },
          { rank: 2, host: "10.0.0.2", count: 9 },
        ],
      },
    ]);
    expect(readAnswer(answer, IPS)).toMatchObject({ kind: "seen", step: 11, rank: 1 });
  });

  it("has another mark when any own rank has started an operation, and only then", () => {
    const of = (own: number, other: number) =>
      readAnswer(
        text([
          {
            hash: "0x1",
            ranks: [
              { rank: 0, host: "fd00::1", count: own },
              { rank: 1, host: "10.0.0.9", count: other },
            ],
          },
        ]),
        IPS,
      );
    expect(of(1, 5)).toEqual(of(1, 6));
    expect(of(1, 5)).not.toEqual(of(2, 5));
  });

  it("shows nothing before the first communicator", () => {
    expect(readAnswer(text([]), IPS)).toEqual({ kind: "absent" });
  });

  it.each([
    ["is no JSON", "NCCL version 2.24.3 compiled with CUDA 12.4\nJob summary\n"],
    ["is JSON of another service", '{"status":"ok"}'],
    ["is cut off", text([{ hash: "0x1", ranks: [{ rank: 0, host: "10.0.0.1", count: 1 }] }]).slice(0, -40)],
    ["is empty", ""],
    ["names no rank of the Pod", text([{ hash: "0x1", ranks: [{ rank: 0, host: "10.0.0.7", count: 1 }] }])],
  ])("is nothing to judge by if it %s", (_, answer) => {
    expect(readAnswer(answer, IPS).kind).toBe("unreadable");
  });

  it("may be anything", () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (answer) => void readAnswer(answer, IPS)));
    const anything = fc.anything({ withNullPrototype: false, maxDepth: 4 });
    const ranks = fc.array(fc.record({ rank: anything, host: fc.constantFrom(...IPS), collective_counts: anything }));
    const communicators = fc.array(fc.record({ size: anything, ranks: fc.oneof(ranks, anything) }));
    fc.assert(
      fc.property(communicators, (list) => {
        const sighting = readAnswer(
          JSON.stringify({ communicators: list }, (_, value) => (typeof value === "bigint" ? 0 : value)),
          IPS,
        );
        if (sighting.kind === "seen") expect(Number.isSafeInteger(sighting.step)).toBe(true);
      }),
    );
  });
});
