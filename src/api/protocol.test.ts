import { describe, expect, it } from "vitest";
import { readJobSet } from "./jobset.ts";
import { epochAnnotation, protocolOf } from "./protocol.ts";

describe("the restart protocol of a JobSet", () => {
  const upstream = { failurePolicy: { maxRestarts: 3, restartStrategy: "InPlaceRestart" } };

  it("is JobSet's own with restartStrategy InPlaceRestart", () => {
    expect(protocolOf(upstream)).toBe("jobset");
  });

  it("is the same for the raw spec and for the JobSet as it is read", () => {
    expect(protocolOf(readJobSet({ spec: upstream }))).toBe("jobset");
    expect(protocolOf(readJobSet({ spec: {} }))).toBe("epoch");
  });

  it.each([undefined, null, {}, { failurePolicy: null }, { failurePolicy: { restartStrategy: "Recreate" } }])(
    "is reprise's own with spec %j",
    (spec) => {
      expect(protocolOf(spec)).toBe("epoch");
    },
  );

  it("decides which annotation holds a Pod's epoch", () => {
    expect(epochAnnotation("epoch")).toBe("jobset.sigs.k8s.io/epoch");
    expect(epochAnnotation("jobset")).toBe("jobset.sigs.k8s.io/in-place-restart-attempt");
  });
});
