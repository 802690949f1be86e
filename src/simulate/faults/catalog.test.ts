import { describe, expect, it } from "vitest";
import { parseFault, randomFaults } from "./catalog.ts";

describe("parseFault", () => {
  it("reads a fault and its time", () => {
    expect(parseFault("kill-worker@5s")).toEqual({ kind: "kill-worker", at: 5_000 });
    expect(parseFault("suspend@1m30s")).toEqual({ kind: "suspend", at: 90_000 });
  });

  it.each(["", "kill-worker", "kill-worker@", "kill-worker@5", "toString@5s", "kill-worker@5s@6s"])(
    "rejects %j",
    (text) => {
      expect(parseFault(text)).toBeUndefined();
    },
  );
});

describe("randomFaults", () => {
  it("are in order, at least one, and no more than requested", () => {
    for (let seed = 0; seed < 100; seed += 1) {
      const times = randomFaults(seed, 3).map(({ at }) => at);
      expect(times).toEqual([...times].sort((a, b) => a - b));
      expect(times.length).toBeGreaterThanOrEqual(1);
      expect(times.length).toBeLessThanOrEqual(3);
    }
  });
});
