import { describe, expect, it } from "vitest";
import { readJobSet } from "../../api/jobset.ts";
import { LABEL } from "../../api/names.ts";
import { withoutGroup } from "./without-group.ts";

const jobSet = (spec: object, labels: Readonly<Record<string, string>> = { [LABEL.injected]: "true" }) =>
  readJobSet({ metadata: { name: "train", namespace: "team", uid: "u", resourceVersion: "1", labels }, spec });

describe("a JobSet without a group", () => {
  it.each([
    ["runs in another cluster", jobSet({ managedBy: "kueue.x-k8s.io/multikueue" }), "JOBSET_IN_OTHER_CLUSTER"],
    ["was not picked up", jobSet({}), "JOBSET_WITHOUT_GROUP"],
    [
      "was not picked up, and names its controller",
      jobSet({ managedBy: "jobset.sigs.k8s.io/jobset-controller" }),
      "JOBSET_WITHOUT_GROUP",
    ],
    ["was not injected", jobSet({}, {}), "JOBSET_WITHOUT_GROUP"],
  ])("%s", (_why, read, code) => {
    expect(withoutGroup(read)).toMatchObject({ code });
  });

  it("names the controller that runs it in another cluster", () => {
    const { message } = withoutGroup(jobSet({ managedBy: "kueue.x-k8s.io/multikueue" }));
    expect(message).toContain("team/train has no Pods in this cluster: kueue.x-k8s.io/multikueue runs it in another");
  });
});
