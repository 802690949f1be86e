import { describe, expect, it } from "vitest";
import { create, injected, settings, templateOf } from "../../test/builders/injection.ts";
import { container, jobSet } from "../../test/builders/jobset.ts";
import { MULTIKUEUE } from "../api/names.ts";
import { withObject } from "../json/edit.ts";
import type { JsonObject } from "../json/types.ts";
import { inject } from "./inject.ts";

const plain = () => jobSet().replicatedJob("workers", { containers: [container("train")] });

/** What MultiKueue creates on the worker cluster: no managedBy, and the name of the Workload. */
function copyOf(stored: JsonObject, as: "annotations" | "labels" = "annotations"): JsonObject {
  const named = withObject(stored, "metadata", (metadata) =>
    withObject(metadata, as, (map) => ({ ...map, [MULTIKUEUE.prebuiltWorkload]: "jobset-train-a1b2c" })),
  );
  return withObject(named, "spec", ({ managedBy: _removed, ...spec }) => spec);
}

describe("a JobSet under MultiKueue", () => {
  const manager = plain().spec({ managedBy: MULTIKUEUE.controller }).build();

  it("is injected on the manager cluster", () => {
    expect(templateOf(injected(create(manager))).podSpec["initContainers"]).toHaveLength(1);
  });

  it.each(["annotations", "labels"] as const)("is left as it is on a worker cluster with other settings: %s", (as) => {
    const copy = copyOf(injected(create(manager)), as);
    const other = { ...settings, agentImage: "registry.example/reprise-agent:2" };
    expect(create(copy, other)).toEqual({ kind: "skipped", reason: "prebuilt-workload", warnings: [] });
  });

  it("stays plain on the worker cluster if it was plain on the manager, with a warning", () => {
    expect(create(copyOf(manager))).toMatchObject({
      kind: "skipped",
      reason: "prebuilt-workload",
      warnings: [{ rule: "prebuilt-workload", path: `metadata.annotations[${MULTIKUEUE.prebuiltWorkload}]` }],
    });
  });

  it("keeps what Kueue writes on the worker cluster, and nothing else changes", () => {
    const stored = copyOf(injected(create(manager)));
    const admitted = JSON.parse(
      JSON.stringify(stored).replace('"containers":[', '"nodeSelector":{"pool":"a"},"containers":['),
    ) as JsonObject;
    const update = (object: JsonObject, oldObject: JsonObject) =>
      inject({ operation: "UPDATE", namespace: "team", object, oldObject, config: settings });
    expect(templateOf(injected(update(admitted, stored))).podSpec).toMatchObject({ nodeSelector: { pool: "a" } });
    expect(injected(update(admitted, stored))).toEqual(admitted);
    expect(injected(update(stored, admitted))).toEqual(stored);
  });
});
