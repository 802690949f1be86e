import { expect, it } from "vitest";
import { container } from "../../../test/builders/jobset.ts";
import { describeRule, findingsOf, jobPath, plain, podPath, SKIPPED } from "../../../test/builders/rule-examples.ts";
import { gcsFuse, pathways, serviceMesh } from "./partners.ts";

const metadataPath = `${jobPath}.template.metadata`;

describeRule(gcsFuse, {
  accepts: ["a JobSet without a bucket", plain().build()],
  reports: [
    "Pods that ask for the sidecar",
    plain({ pods: 2, podMetadata: { annotations: { "gke-gcsfuse/volumes": "true" } } }).build(),
    `${metadataPath}.annotations[gke-gcsfuse/volumes]`,
    /see docs\/compatibility.md#gcs-fuse/,
  ],
  ignores: SKIPPED,
});

it("gcs-fuse reports a volume of its driver", () => {
  const volumes = [
    { name: "a", emptyDir: {} },
    { name: "b", csi: { driver: "gcsfuse.csi.storage.gke.io" } },
  ];
  expect(findingsOf(gcsFuse, plain({ pods: 2, pod: { volumes } }).build())).toMatchObject([
    { path: `${podPath}.volumes[1].csi.driver` },
  ]);
});

describeRule(pathways, {
  accepts: ["a JobSet without Pathways", plain().build()],
  reports: [
    "a worker of Pathways",
    plain({ pods: 2, containers: [container("pathways-worker")] }).build(),
    `${podPath}.containers[0].name`,
    /see docs\/compatibility.md#pathways/,
  ],
  ignores: SKIPPED,
});

describeRule(serviceMesh, {
  accepts: [
    "Pods that opt out of the mesh",
    plain({ pods: 2, podMetadata: { annotations: { "sidecar.istio.io/inject": "false" } } }).build(),
  ],
  reports: [
    "Pods that ask for a proxy",
    plain({ pods: 2, podMetadata: { annotations: { "linkerd.io/inject": "enabled" } } }).build(),
    `${metadataPath}.annotations[linkerd.io/inject]`,
    /see docs\/compatibility.md#service-mesh/,
  ],
  ignores: SKIPPED,
});
