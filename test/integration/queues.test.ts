// Requests as the sources of Kueue v0.19.2 and Kubeflow Trainer v2.3.0 build them, to a real API server with the
// webhooks of JobSet and reprise. test/ecosystem runs the products themselves.
import { afterAll, beforeAll, expect, test } from "vitest";
import { JOBSET, MULTIKUEUE } from "../../src/api/names.ts";
import { asList, asMap, type Fields } from "../../src/json/fields.ts";
import { APPLY_PATCH, connect, type KubeClient, MERGE_PATCH } from "../../src/kube/client.ts";
import { createNamespace } from "../reprise-programs.ts";
import { type AdmissionChain, startAdmissionChain } from "./admission-chain.ts";

const NAMESPACE = "training";
const JOBSETS = `/apis/${JOBSET.group}/${JOBSET.version}/namespaces/${NAMESPACE}/${JOBSET.plural}`;

let chain: AdmissionChain;
let client: KubeClient;

beforeAll(async () => {
  chain = await startAdmissionChain();
  client = connect({ kubeconfig: chain.controlPlane.kubeconfig });
  await createNamespace(chain.controlPlane.kubectl, NAMESPACE);
});

afterAll(async () => {
  await client?.close();
  await chain?.controlPlane.stop();
});

test("Kueue admits a JobSet and takes back what it added: the injected parts stay", async () => {
  // Kueue's own webhook has suspended it.
  const created = await create("admitted", { suspend: true });
  const selector = { "example.com/pool": "a" };
  await patch(
    "admitted",
    admission(created, (podTemplate) => withSelector(podTemplate, selector)),
  );
  const admitted = await stored("admitted");
  expect(podSpecOf(admitted)).toEqual({ ...podSpecOf(created), nodeSelector: selector });
  await patch("admitted", { spec: { suspend: true, replicatedJobs: specOf(created)["replicatedJobs"] } });
  expect(specOf(await stored("admitted"))).toEqual(specOf(created));
});

test("a Kueue that does not know restartPolicyRules drops none of them", async () => {
  const created = await create("older", { suspend: true });
  expect(JSON.stringify(created)).toContain("restartPolicyRules");
  const selector = { "example.com/pool": "a" };
  const forgetful = (podTemplate: Fields): Fields => {
    const text = JSON.stringify(podTemplate, (key, value) => (key === "restartPolicyRules" ? undefined : value));
    return withSelector(asMap(JSON.parse(text)), selector);
  };
  await patch("older", admission(created, forgetful));
  expect(podSpecOf(await stored("older"))).toEqual({ ...podSpecOf(created), nodeSelector: selector });
});

test("MultiKueue: the copy equals the JobSet of the manager", async () => {
  const sent = await create("sent", { managedBy: MULTIKUEUE.controller });
  expect(asList(podSpecOf(sent)["initContainers"])).toHaveLength(1);
  const { managedBy: _managedBy, ...spec } = specOf(sent);
  const { labels, annotations } = asMap(sent["metadata"]);
  const named = { ...asMap(annotations), [MULTIKUEUE.prebuiltWorkload]: "jobset-sent-26d0f" };
  const origin = { ...asMap(labels), "kueue.x-k8s.io/multikueue-origin": "multikueue" };
  const metadata = { name: "copy", namespace: NAMESPACE, labels: origin, annotations: named };
  await post({ metadata, spec: { ...spec, suspend: true } });
  expect(specOf(await stored("copy"))["replicatedJobs"]).toEqual(spec["replicatedJobs"]);
  // A copy that was plain on the manager stays plain, or Kueue would end its Workload.
  await post({
    metadata: { ...metadata, name: "plain-copy", labels: {}, annotations: { [MULTIKUEUE.prebuiltWorkload]: "w" } },
    spec: plainSpec({}),
  });
  expect(podSpecOf(await stored("plain-copy"))).not.toHaveProperty("initContainers");
});

test("Trainer applies a suspended JobSet again and again, by force: nothing changes", async () => {
  const apply = (suspend: boolean) =>
    client.request("PATCH", `${JOBSETS}/applied`, {
      body: { ...jobSet({ name: "applied", annotations: {} }, plainSpec({ suspend })) },
      contentType: APPLY_PATCH,
      query: { fieldManager: "trainer", force: true },
    });
  await apply(true);
  const first = await stored("applied");
  expect(asList(podSpecOf(first)["initContainers"])).toHaveLength(1);
  for (let time = 1; time <= 3; time += 1) await apply(true);
  const again = await stored("applied");
  expect(again["spec"]).toEqual(first["spec"]);
  expect(asMap(again["metadata"])["generation"]).toBe(asMap(first["metadata"])["generation"]);
  await apply(false);
  expect(specOf(await stored("applied"))).toEqual({ ...specOf(first), suspend: false });
});

function jobSet(metadata: Fields, spec: Fields): Fields {
  return { apiVersion: `${JOBSET.group}/${JOBSET.version}`, kind: JOBSET.kind, metadata, spec };
}

function plainSpec(more: Fields): Fields {
  const container = { name: "node", image: "local/busybox:1", command: ["sleep", "600"] };
  const job = { parallelism: 2, completions: 2, template: { spec: { containers: [container] } } };
  return { replicatedJobs: [{ name: "node", replicas: 1, template: { spec: job } }], ...more };
}

async function post({ metadata, spec }: { readonly metadata: Fields; readonly spec: Fields }): Promise<void> {
  await client.request("POST", JOBSETS, { body: jobSet(metadata, spec) });
}

/** Returns it as it is stored, injected. */
async function create(name: string, more: Fields): Promise<Fields> {
  await post({ metadata: { name, namespace: NAMESPACE }, spec: plainSpec(more) });
  return await stored(name);
}

async function stored(name: string): Promise<Fields> {
  return await client.request("GET", `${JOBSETS}/${name}`);
}

async function patch(name: string, body: Fields): Promise<void> {
  await client.request("PATCH", `${JOBSETS}/${name}`, { body, contentType: MERGE_PATCH });
}

const specOf = (object: Fields): Fields => asMap(object["spec"]);

function podSpecOf(object: Fields): Fields {
  const job = asMap(asMap(asMap(asList(specOf(object)["replicatedJobs"])[0])["template"])["spec"]);
  return asMap(asMap(job["template"])["spec"]);
}

/** A merge patch with the whole list of replicatedJobs, whose Pod templates Kueue has changed. */
function admission(object: Fields, change: (podTemplate: Fields) => Fields): Fields {
  const replicatedJobs = asList(specOf(object)["replicatedJobs"]).map((item) => {
    const replicatedJob = asMap(item);
    const template = asMap(replicatedJob["template"]);
    const job = asMap(template["spec"]);
    const spec = { ...job, template: change(asMap(job["template"])) };
    return { ...replicatedJob, template: { ...template, spec } };
  });
  return { spec: { suspend: false, replicatedJobs } };
}

function withSelector(podTemplate: Fields, nodeSelector: Fields): Fields {
  return { ...podTemplate, spec: { ...asMap(podTemplate["spec"]), nodeSelector } };
}
