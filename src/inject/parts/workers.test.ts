import { describe, expect, it } from "vitest";
import {
  at,
  create,
  injected,
  injectionErrors,
  refusing,
  settings,
  templateOf,
  warningTexts,
} from "../../../test/builders/injection.ts";
import { container, jobSet } from "../../../test/builders/jobset.ts";
import { ANNOTATION, LABEL } from "../../api/names.ts";

const OURS = { action: "RestartAllContainers", exitCodes: { operator: "NotIn", values: [0] } };

describe("a worker", () => {
  it("restarts its Pod in place, and gets no variable", () => {
    const { containers } = templateOf(injected(create(jobSet().replicatedJob("workers").build())));
    expect(containers[0]).toMatchObject({ restartPolicy: "Never", restartPolicyRules: [OURS] });
    // The kubelet may start a worker with an older copy of its Pod: a variable from the annotation could be stale.
    expect(containers[0]).not.toHaveProperty("env");
  });

  it("keeps its own variables, and its own rules first", () => {
    const rule = { action: "Restart", exitCodes: { operator: "In", values: [3] } };
    const mine = { name: "MINE", value: "mine" };
    const object = jobSet().replicatedJob("workers", {
      containers: [container("train", { restartPolicy: "Never", restartPolicyRules: [rule], env: [mine] })],
    });
    const outcome = create(object.build());
    expect(templateOf(injected(outcome)).containers[0]).toMatchObject({
      restartPolicyRules: [rule, OURS],
      env: [mine],
    });
    expect(outcome.warnings).toEqual([]);
  });

  it("does not restart alone, and the user gets a warning", () => {
    const object = jobSet().replicatedJob("workers", { containers: [container("train", { restartPolicy: "Always" })] });
    const outcome = create(object.build());
    expect(templateOf(injected(outcome)).containers[0]?.["restartPolicy"]).toBe("Never");
    expect(warningTexts(outcome)).toEqual([
      expect.stringContaining('containers[0].restartPolicy: "Always" was replaced'),
    ]);
  });

  it.each([
    [undefined, "FallbackToLogsOnError"],
    ["File", "File"],
    ["FallbackToLogsOnError", "FallbackToLogsOnError"],
  ])("with terminationMessagePolicy %s gets %s", (written, used) => {
    const worker = container("train", written === undefined ? {} : { terminationMessagePolicy: written });
    const object = jobSet().replicatedJob("workers", { containers: [worker] });
    const [result] = templateOf(injected(create(object.build()))).containers;
    expect(result?.["terminationMessagePolicy"]).toBe(used);
  });

  it("leaves the terminationMessagePolicy of other containers alone", () => {
    const object = jobSet()
      .annotation(ANNOTATION.workerContainers, "train")
      .replicatedJob("workers", { containers: [container("train"), container("log")] });
    expect(templateOf(injected(create(object.build()))).containers[1]).not.toHaveProperty("terminationMessagePolicy");
  });

  it("cannot have more than 20 rules", () => {
    const rules = Array.from({ length: 20 }, (_, index) => ({
      action: "Restart",
      exitCodes: { operator: "In", values: [index + 1] },
    }));
    const worker = container("train", { restartPolicy: "Never", restartPolicyRules: rules });
    const errors = injectionErrors(
      create(
        jobSet()
          .replicatedJob("workers", { containers: [worker] })
          .build(),
        refusing,
      ),
    );
    expect(errors).toEqual([
      expect.objectContaining({ rule: "rule-limit", message: expect.stringContaining("has 20 rules") }),
    ]);
  });
});

describe("the Pod", () => {
  it("has the injected label, and its worker is the default container of kubectl", () => {
    const { pod } = templateOf(injected(create(jobSet().replicatedJob("workers").build())));
    expect(pod["metadata"]).toEqual({
      labels: { [LABEL.injected]: "true" },
      annotations: { "kubectl.kubernetes.io/default-container": "train" },
    });
  });

  it("keeps the default container that the user chose", () => {
    const podMetadata = { annotations: { "kubectl.kubernetes.io/default-container": "log" } };
    const { pod } = templateOf(injected(create(jobSet().replicatedJob("workers", { podMetadata }).build())));
    expect(pod["metadata"]).toMatchObject(podMetadata);
  });

  it("has the JobSet's annotation that allows forced deletion", () => {
    const object = jobSet().annotation(ANNOTATION.safeToForcefullyDelete, "true").replicatedJob("workers");
    const { pod } = templateOf(injected(create(object.build())));
    expect(at(pod, "metadata", "annotations", ANNOTATION.safeToForcefullyDelete)).toBe("true");
  });

  it("gets the configured pull secrets once", () => {
    const object = jobSet().replicatedJob("workers", { pod: { imagePullSecrets: [{ name: "a" }] } });
    const outcome = create(object.build(), { ...settings, imagePullSecrets: ["a", "b"] });
    expect(templateOf(injected(outcome)).podSpec["imagePullSecrets"]).toEqual([{ name: "a" }, { name: "b" }]);
  });

  it("leaves a lost node after the annotated grace period", () => {
    const object = jobSet().annotation(ANNOTATION.nodeLossGrace, "1m30s").replicatedJob("workers");
    expect(templateOf(injected(create(object.build()))).podSpec["tolerations"]).toEqual(
      ["node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"].map((key) => ({
        key,
        operator: "Exists",
        effect: "NoExecute",
        tolerationSeconds: 90,
      })),
    );
  });

  it.each([
    [{ key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 }, 2],
    [{ key: "node.kubernetes.io/unreachable", operator: "Exists" }, 2],
    [{ operator: "Exists" }, 1],
    [{ key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoSchedule" }, 3],
    [{ key: "gpu", operator: "Exists" }, 3],
  ])("keeps the user's toleration %j", (toleration, count) => {
    const object = jobSet()
      .annotation(ANNOTATION.nodeLossGrace, "30s")
      .replicatedJob("workers", { pod: { tolerations: [toleration] } });
    const { tolerations } = templateOf(injected(create(object.build()))).podSpec;
    expect(tolerations).toHaveLength(count);
    expect(at(tolerations, 0)).toEqual(toleration);
  });

  it("rejects a grace period that is not a duration", () => {
    const object = jobSet().annotation(ANNOTATION.nodeLossGrace, "soon").replicatedJob("workers");
    expect(injectionErrors(create(object.build()))[0]?.message).toContain('"soon" is not a duration');
  });
});
