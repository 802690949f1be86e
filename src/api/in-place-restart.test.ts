import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { asList, asMap, type Fields } from "../json/fields.ts";
import {
  CANDIDATE_LIMIT,
  formatReady,
  HISTORY_LIMIT,
  IN_PLACE_RESTART,
  MESSAGE_LIMIT,
  PHASES,
  RESTART_ACTIONS,
  RESTART_REASONS,
  RULE_FAILURES_LIMIT,
  RULE_NAME_LIMIT,
  readInPlaceRestart,
  readReady,
  TARGET_LIMIT,
} from "./in-place-restart.ts";
import { LAST_WORDS_LIMIT } from "./last-words.ts";

const crd = asMap(parse(readFileSync("manifests/crd/reprise.dev_inplacerestarts.yaml", "utf8")));

function at(root: unknown, ...path: string[]): Fields {
  return path.reduce<Fields>((fields, key) => asMap(fields[key]), asMap(root));
}

describe("readInPlaceRestart", () => {
  it("reads back what the controller writes", () => {
    const status = {
      deprecatedEpoch: 3,
      syncedEpoch: 4,
      heldStages: ["evaluators"],
      restarts: 3,
      ruleFailures: [{ job: "j1", failures: 2, epoch: 3 }],
      phase: "Restarting",
      ready: "7/8",
      history: [
        {
          cause: { reason: "ContainerExited", pod: "train-workers-0-1-abcde", container: "main", exitCode: 3 },
          action: "RecreatePod",
          rule: "end-epoch",
          target: "p1",
          streak: { restarts: 5, slot: "train-workers-0/1", failures: 3 },
          backoffUntil: "2026-01-01T00:00:20.100Z",
          fromEpoch: 3,
          toEpoch: 4,
          counted: true,
          failureSeen: "2026-01-01T00:00:00.100Z",
          deprecated: "2026-01-01T00:00:00.105Z",
        },
        {
          cause: { reason: "ContainerExited", exitCode: 1, message: "no device", candidates: ["a", "b"] },
          action: "RecreatePod",
          rule: "settle-blame",
          targets: ["p1", "p2"],
          streak: { restarts: 3, unexplained: 3 },
          fromEpoch: 4,
          counted: true,
        },
      ],
      conditions: [
        {
          type: "Ready",
          status: "False",
          reason: "Restarting",
          message: "",
          lastTransitionTime: "2026-01-01T00:00:00Z",
        },
      ],
    };
    const raw = {
      metadata: { name: "train", namespace: "ml", uid: "i1", resourceVersion: "9" },
      spec: { jobSetUID: "j1" },
      status,
    };
    expect(readInPlaceRestart(raw)).toEqual({ ...raw.metadata, jobSetUID: "j1", status });
  });

  it.each([{}, { status: {} }, { status: { syncedEpoch: 1 } }, { status: { syncedEpoch: "1", deprecatedEpoch: 0 } }])(
    "returns no status before both epochs are written: %j",
    (raw) => {
      expect(readInPlaceRestart(raw).status).toBeUndefined();
    },
  );

  it("reads a status at epoch 0 as initialized", () => {
    expect(readInPlaceRestart({ status: { deprecatedEpoch: 0, syncedEpoch: 0 } }).status?.syncedEpoch).toBe(0);
  });

  it("never throws, whatever the input", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.array(fc.jsonValue()), (anything, list) => {
        expect(() => readInPlaceRestart(anything)).not.toThrow();
        const status = { deprecatedEpoch: 0, syncedEpoch: 0, heldStages: anything, history: list, conditions: list };
        expect(() => readInPlaceRestart({ spec: anything, status })).not.toThrow();
      }),
    );
  });
});

describe("the ready count", () => {
  it("is read back as it was written", () => {
    expect(readReady(formatReady({ ready: 7, expected: 8 }))).toEqual({ ready: 7, expected: 8 });
  });

  it.each(["", "7", "7/", "a/8", "7/8/9"])("is undefined for %j", (text) => {
    expect(readReady(text)).toBeUndefined();
  });
});

describe("the CRD", () => {
  const spec = at(crd, "spec");
  const version = asMap(asList(spec["versions"])[0]);
  const status = at(version, "schema", "openAPIV3Schema", "properties", "status", "properties");

  it("defines the kind that the code uses", () => {
    expect(spec["group"]).toBe(IN_PLACE_RESTART.group);
    expect(at(spec, "names")["plural"]).toBe(IN_PLACE_RESTART.plural);
    expect(at(spec, "names")["kind"]).toBe(IN_PLACE_RESTART.kind);
    expect(version["name"]).toBe(IN_PLACE_RESTART.version);
  });

  it("has the same phases, restart reasons, actions and bounds as the code", () => {
    expect(at(status, "phase")["enum"]).toEqual(PHASES);
    expect(at(status, "history")["maxItems"]).toBe(HISTORY_LIMIT);
    expect(at(status, "ruleFailures")["maxItems"]).toBe(RULE_FAILURES_LIMIT);
    expect(at(status, "conditions", "items", "properties", "message")["maxLength"]).toBe(MESSAGE_LIMIT);
    const record = at(status, "history", "items", "properties");
    expect(at(record, "cause", "properties", "reason")["enum"]).toEqual(RESTART_REASONS);
    expect(at(record, "action")["enum"]).toEqual(RESTART_ACTIONS);
    expect(at(record, "rule")["maxLength"]).toBe(RULE_NAME_LIMIT);
    expect(at(record, "targets")["maxItems"]).toBe(TARGET_LIMIT);
    expect(at(record, "cause", "properties", "candidates")["maxItems"]).toBe(CANDIDATE_LIMIT);
    expect(at(record, "cause", "properties", "message")["maxLength"]).toBe(LAST_WORDS_LIMIT);
  });
});
