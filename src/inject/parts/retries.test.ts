import { describe, expect, it } from "vitest";
import { create, injected, templateOf, update, warningTexts } from "../../../test/builders/injection.ts";
import { container, jobSet } from "../../../test/builders/jobset.ts";
import { stored, withCrdDefaults } from "../../../test/builders/stored.ts";
import { ANNOTATION } from "../../api/names.ts";
import { isObject, listAt } from "../../json/edit.ts";
import type { JsonObject } from "../../json/types.ts";

function shape(restartPolicy?: string) {
  return jobSet()
    .annotation(ANNOTATION.workerContainers, "train")
    .replicatedJob("workers", {
      pods: 2,
      ...(restartPolicy === undefined ? {} : { pod: { restartPolicy } }),
      initContainers: [
        container("fetch"),
        container("mesh", { restartPolicy: "Always" }),
        container("check", { restartPolicy: "Never" }),
      ],
      containers: [container("train"), container("log"), container("once", { restartPolicy: "Never" })],
    });
}

/** The restartPolicy of every container. */
function policiesIn(object: JsonObject): Record<string, unknown> {
  const { podSpec } = templateOf(object);
  const all = [...listAt(podSpec, "initContainers"), ...listAt(podSpec, "containers")].filter(isObject);
  return Object.fromEntries(all.map(({ name, restartPolicy }) => [String(name), restartPolicy]));
}

describe("containers that are not workers", () => {
  it.each([undefined, "OnFailure"])("keep OnFailure as their own policy if the Pod says %s", (restartPolicy) => {
    const outcome = create(shape(restartPolicy).build());
    expect(policiesIn(injected(outcome))).toEqual({
      "reprise-agent": "Always",
      fetch: "OnFailure",
      mesh: "Always",
      check: "Never",
      train: "Never",
      log: "OnFailure",
      once: "Never",
    });
    expect(warningTexts(outcome)).toEqual([expect.stringMatching(/is retried without a limit/)]);
  });

  it("stay as they are if the Pod says Never", () => {
    expect(policiesIn(injected(create(shape("Never").build())))).toMatchObject({ fetch: undefined, log: undefined });
  });

  it.each([undefined, "OnFailure", "Never"])("do not change when the plain file is applied again (%s)", (policy) => {
    const live = stored(injected(create(shape(policy).build())));
    expect(injected(update(withCrdDefaults(shape(policy).build()), live))["spec"]).toEqual(live["spec"]);
  });

  it("keep their policy in a copy of the injected JobSet with other annotations", () => {
    const copy = injected(create(shape().build()));
    const changed = injected(create({ ...copy, metadata: withAnnotation(copy, ANNOTATION.failExitCodes, "42") }));
    expect(policiesIn(changed)).toEqual(policiesIn(copy));
  });

  it("get no policy on an update of a JobSet that was injected without one", () => {
    const live = stored(injected(create(shape("Never").build())));
    const result = injected(update(withCrdDefaults(shape("OnFailure").build()), live));
    expect(policiesIn(result)).toMatchObject({ fetch: undefined, log: undefined });
  });
});

function withAnnotation({ metadata }: JsonObject, key: string, value: string): JsonObject {
  const written = isObject(metadata) ? metadata : {};
  const annotations = isObject(written["annotations"]) ? written["annotations"] : {};
  return { ...written, annotations: { ...annotations, [key]: value } };
}
