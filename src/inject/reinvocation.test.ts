// The API server calls the webhook again after another webhook changed the object, and users copy injected JobSets.
import { describe, expect, it } from "vitest";
import {
  at,
  changed,
  create,
  injected,
  injectionErrors,
  POD_SPEC,
  settings,
  templateOf,
  update,
} from "../../test/builders/injection.ts";
import { container, jobSet } from "../../test/builders/jobset.ts";
import { stored, withCrdDefaults } from "../../test/builders/stored.ts";
import { AGENT, ANNOTATION } from "../api/names.ts";
import { createPatch } from "../json/patch.ts";
import type { Json, JsonObject } from "../json/types.ts";

const plain = () =>
  jobSet()
    .annotation(ANNOTATION.failExitCodes, "40-42")
    .annotation(ANNOTATION.nodeLossGrace, "30s")
    .annotation(ANNOTATION.safeToForcefullyDelete, "true")
    .replicatedJob("workers", { pods: 2, initContainers: [container("fetch")], containers: [container("train")] });

function names(object: JsonObject, list: string): unknown[] {
  const items = at(object, ...POD_SPEC, list);
  return Array.isArray(items) ? items.map((item) => at(item, "name")) : [];
}

function withItems(object: JsonObject, list: string, change: (items: Json[]) => Json[]): JsonObject {
  const items = at(object, ...POD_SPEC, list);
  return changed(object, [...POD_SPEC, list], change(Array.isArray(items) ? items : []));
}

describe("a second call", () => {
  it("changes nothing", () => {
    const once = injected(create(plain().build()));
    const twice = injected(create(once));
    expect(twice).toBe(once);
    expect(createPatch(once, twice)).toEqual([]);
  });

  it("changes nothing in an object that went through JobSet's webhook", () => {
    const once = stored(injected(create(plain().build())));
    expect(injected(create(once))).toBe(once);
  });

  it.each<[string, (items: Json[]) => Json[]]>([
    ["in front", (items) => [container("other"), ...items]],
    ["behind", (items) => [...items, container("other")]],
  ])("puts the agent first again when another webhook added an initContainer %s", (_where, change) => {
    const once = injected(create(plain().build()));
    const touched = withItems(once, "initContainers", change);
    const again = injected(create(touched));
    expect(names(again, "initContainers")[0]).toBe(AGENT.container);
    expect(names(again, "initContainers")).toHaveLength(3);
    expect(injected(create(again))).toBe(again);
  });

  it("makes a container that another webhook added a worker", () => {
    const touched = withItems(injected(create(plain().build())), "containers", (items) => [
      container("mesh"),
      ...items,
    ]);
    const { containers } = templateOf(injected(create(touched)));
    expect(containers.every((each) => "restartPolicyRules" in each)).toBe(true);
  });

  it("keeps what another webhook added to the agent, and repairs what it changed", () => {
    const once = injected(create(plain().build()));
    const agentPath = [...POD_SPEC, "initContainers", 0];
    const agent = Object(at(once, ...agentPath));
    const touched = changed(once, agentPath, {
      ...agent,
      image: "elsewhere/other:1",
      env: [{ name: "TRACE", value: "1" }, ...agent.env.slice(1), { name: "JOBSET_NAME", value: "other" }],
      volumeMounts: [...agent.volumeMounts, { name: "identity", mountPath: "/id" }],
      fieldOfTheFuture: true,
    });
    const repaired = injected(create(touched));
    expect(at(repaired, ...agentPath)).toMatchObject({ image: settings.agentImage, fieldOfTheFuture: true });
    const env = at(repaired, ...agentPath, "env");
    expect(env).toContainEqual({ name: "TRACE", value: "1" });
    expect(env).toHaveLength(agent.env.length + 1);
    expect(at(repaired, ...agentPath, "volumeMounts")).toHaveLength(2);
    expect(injected(create(repaired))).toBe(repaired);
  });

  it("adapts the agent's resources to a QoS class that another webhook changed", () => {
    const guaranteed = { resources: { limits: { cpu: "1", memory: "1Gi" } } };
    const object = jobSet()
      .replicatedJob("workers", { containers: [container("train", guaranteed)] })
      .build();
    const once = injected(create(object));
    expect(at(once, ...POD_SPEC, "initContainers", 0, "resources", "limits", "cpu")).toBe("100m");
    const again = injected(create(withItems(once, "containers", (items) => [...items, container("mesh")])));
    expect(at(again, ...POD_SPEC, "initContainers", 0, "resources", "limits")).toEqual({ memory: "64Mi" });
  });
});

describe("a copy of an injected JobSet", () => {
  it("is injected again with the configured agent", () => {
    const copy = stored(injected(create(plain().build())));
    const result = injected(create(copy, { ...settings, agentImage: "registry.example/reprise:next" }));
    expect(names(result, "initContainers")).toEqual([AGENT.container, "fetch"]);
    expect(at(result, ...POD_SPEC, "initContainers", 0, "image")).toBe("registry.example/reprise:next");
    expect(result).not.toEqual(copy);
  });

  it("is injected again without its record", () => {
    const copy = structuredClone(injected(create(plain().build())));
    delete Object(at(copy, "metadata", "annotations"))[ANNOTATION.status];
    expect(names(injected(create(copy)), "initContainers")).toEqual([AGENT.container, "fetch"]);
  });

  it("with other inputs gets their rules, and none of the old", () => {
    const copy = injected(create(plain().build()));
    const edited = changed(copy, ["metadata", "annotations", ANNOTATION.failExitCodes], "50");
    const result = injected(create(changed(edited, ["metadata", "annotations", ANNOTATION.nodeLossGrace], "60s")));
    const fresh = injected(
      create(plain().annotation(ANNOTATION.failExitCodes, "50").annotation(ANNOTATION.nodeLossGrace, "60s").build()),
    );
    expect(result).toEqual(fresh);
  });

  it("with another podFailurePolicy gets the rule of that one, and not the old", () => {
    const failing = (values: number[]) =>
      jobSet().replicatedJob("workers", {
        pods: 2,
        job: { podFailurePolicy: { rules: [{ action: "FailJob", onExitCodes: { operator: "In", values } }] } },
      });
    const copy = injected(create(failing([3]).build()));
    const path = [
      "spec",
      "replicatedJobs",
      0,
      "template",
      "spec",
      "podFailurePolicy",
      "rules",
      0,
      "onExitCodes",
      "values",
    ];
    const again = injected(create(changed(copy, path, [5])));
    expect(at(again, ...POD_SPEC, "containers")).toEqual(
      at(injected(create(failing([5]).build())), ...POD_SPEC, "containers"),
    );
    expect(injected(create(again))).toBe(again);
  });

  it("with other inputs can be sent again", () => {
    const copy = injected(create(plain().build()));
    const edited = changed(copy, ["metadata", "annotations", ANNOTATION.failExitCodes], "50");
    const live = stored(injected(create(edited)));
    expect(injected(update(withCrdDefaults(edited), live))["spec"]).toEqual(live["spec"]);
  });

  it("that no longer participates loses its agent and its rules", () => {
    const builder = () => plain().replicatedJob("driver", { pods: 1 });
    const copy = injected(create(builder().build()));
    const edited = structuredClone(copy);
    Object(at(edited, "metadata", "annotations"))[ANNOTATION.replicatedJobs] = "driver";
    const { podSpec, job } = templateOf(injected(create(edited)), 0);
    expect(JSON.stringify(podSpec)).not.toContain(AGENT.container);
    expect(JSON.stringify(podSpec)).not.toContain("RestartAllContainers");
    expect(job).not.toHaveProperty("podFailurePolicy");
  });

  it("without its record is rejected if an excluded replicatedJob has an agent", () => {
    const copy = injected(create(plain().replicatedJob("driver", { pods: 1 }).build()));
    const annotations = { [ANNOTATION.replicatedJobs]: "driver" };
    const errors = injectionErrors(create(changed(copy, ["metadata", "annotations"], annotations)));
    expect(errors).toEqual([expect.objectContaining({ message: expect.stringContaining("remove the agent") })]);
  });

  it("that opts out is not changed, with a warning about its agent", () => {
    const copy = changed(injected(create(plain().build())), ["metadata", "annotations", ANNOTATION.inject], "false");
    expect(create(copy)).toMatchObject({
      reason: "disabled-by-annotation",
      warnings: [
        { rule: "leftover-agent", message: expect.stringContaining("has the agent of the JobSet it was copied from") },
      ],
    });
  });

  it("does not trust an edited record", () => {
    for (const text of ["", "null", "[]", "{", '{"inputs":7}', '{"inputs":{"reprise.dev/fail-exit-codes":"x"}}']) {
      const object = plain().annotation(ANNOTATION.status, text).build();
      expect(create(object).kind).toBe("injected");
    }
  });
});
