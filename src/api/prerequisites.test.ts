import { expect, it } from "vitest";
import { type ClusterFacts, judgeCluster } from "./prerequisites.ts";

/** The relevant part of an OpenAPI document. The API server publishes CRDs without references. */
function jobSetApi({ container = {}, job = {} }: { container?: object; job?: object } = {}): unknown {
  const containers = { type: "array", items: { properties: { name: {}, ...container } } };
  const podTemplate = { properties: { spec: { properties: { containers, initContainers: containers } } } };
  const jobSpec = { properties: { backoffLimit: {}, ...job, template: podTemplate } };
  const replicatedJobs = { items: { properties: { template: { properties: { spec: jobSpec } } } } };
  const spec = { properties: { replicatedJobs } };
  return { components: { schemas: { "io.x-k8s.jobset.v1alpha2.JobSet": { properties: { spec } } } } };
}

const NEW = { container: { restartPolicyRules: {} }, job: { backoffLimitPerIndex: {}, podReplacementPolicy: {} } };

const fine: ClusterFacts = {
  version: { major: "1", minor: "36", gitVersion: "v1.36.3" },
  jobSetApi: jobSetApi(NEW),
};

const reasons = (facts: Partial<ClusterFacts>) => judgeCluster({ ...fine, ...facts }).map(({ reason }) => reason);
const messages = (facts: Partial<ClusterFacts>) => judgeCluster({ ...fine, ...facts }).map(({ message }) => message);

it("finds nothing wrong with a new Kubernetes and a new JobSet", () => {
  expect(reasons({})).toEqual([]);
  expect(reasons({ version: { major: "1", minor: "37+", gitVersion: "v1.37.0-eks" } })).toEqual([]);
  expect(reasons({ version: { major: "2", minor: "0", gitVersion: "v2.0.0" } })).toEqual([]);
});

it("names a Kubernetes that is too old", () => {
  const version = { major: "1", minor: "35", gitVersion: "v1.35.9" };
  expect(reasons({ version })).toEqual(["kubernetes-too-old"]);
  expect(messages({ version })[0]).toMatch(/^Kubernetes v1\.35\.9 cannot restart .* upgrade to 1\.36 or newer$/);
});

it("judges an API server that emulates an older version by that one", () => {
  const version = { major: "1", minor: "37", gitVersion: "v1.37.1", emulationMajor: "1", emulationMinor: "35" };
  expect(messages({ version })).toEqual([expect.stringContaining("Kubernetes 1.35 cannot restart")]);
  expect(reasons({ version: { ...version, emulationMinor: "36" } })).toEqual([]);
});

it("takes a version that it cannot read for no proof", () => {
  expect(reasons({ version: {} })).toEqual([]);
});

it("names a JobSet that is not there", () => {
  expect(reasons({ jobSetApi: undefined })).toEqual(["jobset-missing"]);
});

it("names the field that an older JobSet's CRD would drop", () => {
  expect(messages({ jobSetApi: jobSetApi({ ...NEW, container: {} }) })).toEqual([
    expect.stringContaining("no spec.replicatedJobs[].template.spec.template.spec.containers.restartPolicyRules"),
  ]);
  expect(messages({ jobSetApi: jobSetApi({ ...NEW, job: { backoffLimitPerIndex: {} } }) })).toEqual([
    expect.stringContaining("no spec.replicatedJobs[].template.spec.podReplacementPolicy"),
  ]);
});

it("takes a schema that keeps unknown fields for one that has them", () => {
  const container = { "x-kubernetes-preserve-unknown-fields": true };
  const schema = { properties: { spec: { properties: { replicatedJobs: { items: container } } } } };
  expect(reasons({ jobSetApi: { components: { schemas: { "x.JobSet": schema } } } })).toEqual([]);
});

const webhook = (caBundle?: string) => ({ webhooks: [{ name: "inject.reprise.dev", clientConfig: { caBundle } }] });

it("tells who has to provide the authority that the API server lacks", () => {
  expect(reasons({ webhookConfiguration: webhook("Q0E="), certManager: false })).toEqual([]);
  expect(messages({ webhookConfiguration: webhook(), certManager: false })).toEqual([
    expect.stringContaining("install cert-manager"),
  ]);
  expect(messages({ webhookConfiguration: webhook(""), certManager: true })).toEqual([
    expect.stringContaining("kubectl describe certificate"),
  ]);
});
