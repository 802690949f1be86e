import { describe, expect, it } from "vitest";
import { isRestartRequest } from "../../api/restart-request.ts";
import { requestText, restartedText } from "./restart-text.ts";

const now = Date.parse("2026-01-01T12:00:00.123Z");

describe("the text of a request", () => {
  it("has the reason, the user and the time", () => {
    expect(requestText(" loss is NaN ", "alice", now)).toBe("loss is NaN (alice, 2026-01-01T12:00:00Z)");
  });

  it("fits into the annotation even if the name of the user is very long", () => {
    const text = requestText("r".repeat(100), "u".repeat(300), now);
    expect(isRestartRequest(text)).toBe(true);
  });
});

describe("the result of a restart", () => {
  const status = {
    deprecatedEpoch: 1,
    syncedEpoch: 2,
    heldStages: [],
    restarts: 0,
    phase: "Running",
    ready: "2/2",
    conditions: [],
    history: [
      {
        cause: { reason: "Requested", request: "r" },
        action: "RestartInPlace",
        fromEpoch: 1,
        toEpoch: 2,
        counted: false,
        failureSeen: "2026-01-01T12:00:00.000Z",
        allRunning: "2026-01-01T12:00:03.250Z",
      },
    ],
  } as const;

  it("says how long it took", () => {
    expect(restartedText(status, "r")).toBe("every worker runs in epoch 2, 3.3 s after the request was seen");
  });

  it("says that the group was not running if another restart answered the request", () => {
    expect(restartedText(status, "other")).toMatch(/nothing was restarted for it$/);
  });
});
