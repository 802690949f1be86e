import { describe, expect, it } from "vitest";
import {
  at,
  create,
  injected,
  injectionErrors,
  templateOf,
  update,
  warningTexts,
} from "../../test/builders/injection.ts";
import { container, jobSet } from "../../test/builders/jobset.ts";
import { stored } from "../../test/builders/stored.ts";
import { AGENT, ANNOTATION, HANG_ENV, PROGRESS_FILE_ENV } from "../api/names.ts";
import { isObject, listAt, named, withObject, withoutField } from "../json/edit.ts";
import type { JsonObject } from "../json/types.ts";

function annotated(annotations: Readonly<Record<string, string>>, worker: JsonObject = {}): JsonObject {
  const builder = jobSet().replicatedJob("workers", { containers: [container("main", worker)] });
  for (const [key, value] of Object.entries(annotations)) builder.annotation(key, value);
  return builder.build();
}

function agentIn(object: JsonObject): JsonObject {
  const agent = at(templateOf(object).podSpec, "initContainers", 0);
  if (!isObject(agent)) throw new Error("no agent");
  return agent;
}

const envOf = (agent: JsonObject, name: string) => named(listAt(agent, "env"), name)?.["value"];

describe("hang detection", () => {
  it("adds nothing to a JobSet that does not ask for it: with an emptyDir, kubectl drain stops", () => {
    const object = injected(create(annotated({})));
    expect(JSON.stringify(object)).not.toMatch(/reprise-progress|REPRISE_PROGRESS_FILE|HANG_AFTER/);
  });

  it.each([ANNOTATION.hangAfter, ANNOTATION.onHang, ANNOTATION.startDeadline, ANNOTATION.hangDetection])(
    "is asked for by %s alone, and then learned",
    (key) => {
      const values: Readonly<Record<string, string>> = {
        [ANNOTATION.hangAfter]: "learned",
        [ANNOTATION.onHang]: "restart",
        [ANNOTATION.startDeadline]: "1h",
        [ANNOTATION.hangDetection]: "file",
      };
      const agent = agentIn(injected(create(annotated({ [key]: values[key] ?? "" }))));
      expect(envOf(agent, HANG_ENV.hangAfter)).toBe("learned");
      expect(envOf(agent, HANG_ENV.progressFile)).toBe("/var/run/reprise.dev/progress/step");
    },
  );

  it.each([
    [ANNOTATION.hangAfter, "15", '"15" is not "learned" or a duration'],
    [ANNOTATION.hangAfter, "0s", "is not between 1s and a year"],
    [ANNOTATION.hangAfter, "9000h", "is not between 1s and a year"],
    [ANNOTATION.hangAfter, "", "is not"],
    [ANNOTATION.startDeadline, "learned", '"learned" is not a duration'],
    [ANNOTATION.progressFile, "latest", "is not the absolute path of a file"],
    [ANNOTATION.progressFile, "/data/../etc/passwd", "is not the absolute path of a file"],
    [ANNOTATION.progressFile, "/data/", "is not the absolute path of a file"],
    [ANNOTATION.progressFile, "/data/$(POD)", "is not the absolute path of a file"],
    [ANNOTATION.progressFile, "/data/latest", "is in no volume that a worker mounts"],
    [ANNOTATION.hangDetection, "nccl", 'neither "file" nor "nccl-ras"'],
  ])("refuses %s: %j with the path of the field", (key, value, message) => {
    const [error] = injectionErrors(create(annotated({ [key]: value })));
    expect(error).toMatchObject({ rule: "hang-detection", path: `metadata.annotations[${key}]` });
    expect(error?.message).toContain(message);
  });

  it("asks NCCL without a volume", () => {
    const object = injected(create(annotated({ [ANNOTATION.hangDetection]: "nccl-ras" })));
    expect(JSON.stringify(object)).not.toMatch(/reprise-progress"|REPRISE_PROGRESS_FILE/);
    const env = named(listAt(agentIn(object), "env"), HANG_ENV.podIps);
    expect(env?.["valueFrom"]).toEqual({ fieldRef: { fieldPath: "status.podIPs" } });
  });

  it("refuses a file together with NCCL", () => {
    const both = annotated({ [ANNOTATION.hangDetection]: "nccl-ras", [ANNOTATION.progressFile]: "/data/a" });
    expect(injectionErrors(create(both)).map(({ path }) => path)).toContain(
      `metadata.annotations[${ANNOTATION.hangDetection}]`,
    );
  });

  it("does not read a volume whose path only the kubelet knows", () => {
    const mount = { name: "data", mountPath: "/data", subPathExpr: "$(POD)" };
    const object = annotated({ [ANNOTATION.progressFile]: "/data/latest" }, { volumeMounts: [mount] });
    expect(injectionErrors(create(object))).toHaveLength(1);
  });

  it("lets a running JobSet change what happens to a hang, and nothing else", () => {
    const live = stored(injected(create(annotated({ [ANNOTATION.hangAfter]: "15m" }))));
    const sent = (key: string, value: string) => annotated({ [ANNOTATION.hangAfter]: "15m", [key]: value });
    expect(warningTexts(update(sent(ANNOTATION.onHang, "restart"), live))).toEqual([]);
    expect(warningTexts(update(sent(ANNOTATION.hangAfter, "5m"), live))).toEqual([
      expect.stringContaining("keeps the settings it was injected with"),
    ]);
  });

  it("disappears from a copy that no longer asks for it", () => {
    const copied = injected(create(annotated({ [ANNOTATION.hangAfter]: "15m" })));
    const changed = withObject(copied, "metadata", (metadata) =>
      withObject(metadata, "annotations", (written) => withoutField(written, ANNOTATION.hangAfter)),
    );
    const again = injected(create(changed));
    const { podSpec } = templateOf(again);
    expect(named(listAt(podSpec, "volumes"), AGENT.progressVolume)).toBeUndefined();
    expect(JSON.stringify(again["spec"])).not.toMatch(new RegExp(`${PROGRESS_FILE_ENV}|${HANG_ENV.hangAfter}`));
  });

  it("does not take a volume of the user", () => {
    const object = jobSet()
      .annotation(ANNOTATION.hangAfter, "15m")
      .replicatedJob("workers", { pod: { volumes: [{ name: AGENT.progressVolume, hostPath: { path: "/" } }] } })
      .build();
    expect(JSON.stringify(create(object))).toContain("is reserved for the volume in which workers report");
  });
});
