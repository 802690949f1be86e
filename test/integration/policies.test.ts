// What the manifests allow and deny, on a real API server with real tokens: an agent can write only the epoch of its
// own Pod, no other account can write that epoch, and ordinary work on Pods is not affected.
import { KubeConfig } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { parseAllDocuments } from "yaml";
import { readAnnotations } from "../../src/api/metadata.ts";
import { HANG_ANNOTATION, JOBSET, LABEL, LAST_STEP_ANNOTATION, SHM_LEFTOVER_ANNOTATION } from "../../src/api/names.ts";
import { asList, asMap } from "../../src/json/fields.ts";
import { ApiError } from "../../src/kube/api-error.ts";
import { APPLY_PATCH, JSON_PATCH, KubeClient, MERGE_PATCH, STRATEGIC_MERGE_PATCH } from "../../src/kube/client.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane.ts";
import { tokenConfig } from "../reprise-programs.ts";

const EPOCH = JOBSET.epochAnnotation;
const LEFTOVER = SHM_LEFTOVER_ANNOTATION;
const HANG = HANG_ANNOTATION;
const LAST_STEP = LAST_STEP_ANNOTATION;
const ATTEMPT = JOBSET.inPlaceRestartAttemptAnnotation;
const NAMESPACE = "team";
/** With either binding, because their order is not defined. */
const DENIED = /ValidatingAdmissionPolicy 'reprise-pods' .* denied request/;
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;

let cluster: ControlPlane;
let admin: KubeClient;
const clients: KubeClient[] = [];

beforeAll(async () => {
  cluster = await startControlPlane({ controllerManager: true });
  admin = remember(new KubeClient(kubeconfigOf(cluster.kubeconfig)));
  const { kubectl } = cluster;
  await kubectl(["apply", "--server-side", "-k", "manifests/crd"]);
  await kubectl(["apply", "--server-side", "-k", "manifests/agent"]);
  await kubectl(["create", "namespace", NAMESPACE]);
  for (const account of ["trainer", "reader", "operator", "plain"]) {
    await kubectl(["create", "serviceaccount", account, "-n", NAMESPACE]);
  }
  for (const account of ["trainer", "reader", "operator"]) await bind(account, "--clusterrole=reprise-agent-writer");
  await bind("trainer", "--clusterrole=reprise-agent-reader");
  await bind("reader", "--clusterrole=reprise-agent-jobset-reader");
  // An account that got its own permissions on Pods after injection, and one without injection.
  await kubectl([
    "create",
    "role",
    "operator",
    "-n",
    NAMESPACE,
    "--verb=get,patch,update",
    "--resource=pods,pods/status",
  ]);
  await kubectl(["create", "role", "plain", "-n", NAMESPACE, "--verb=create,patch", "--resource=pods,pods/status"]);
  await bind("operator", "--role=operator");
  await bind("plain", "--role=plain");
  await whenEnforced();
});

afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await cluster?.stop();
});

function kubeconfigOf(file: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromFile(file);
  return config;
}

function remember(client: KubeClient): KubeClient {
  clients.push(client);
  return client;
}

async function bind(account: string, role: string): Promise<void> {
  const name = `${account}-${role.replace(/^.*=/, "")}`;
  const subject = `--serviceaccount=${NAMESPACE}:${account}`;
  await cluster.kubectl(["create", "rolebinding", name, "-n", NAMESPACE, role, subject]);
}

/** The API server enforces each policy some time after its creation. */
async function whenEnforced(): Promise<void> {
  const forged = { [EPOCH]: "1" };
  await vi.waitFor(
    async () => {
      await expect(createPod({ annotations: forged })).rejects.toThrow("created without one");
      const pod = await createPod({ account: "trainer" });
      const agent = await clientOf("trainer", pod);
      await expect(patch(agent, pod, { metadata: { labels: { a: "b" } } })).rejects.toThrow("not for other fields");
      await expect(place(pod, "n0", forged)).rejects.toThrow("a Binding carries none");
      await expect(createPod({ by: await clientOf("plain") })).rejects.toThrow("only the Job controller creates");
    },
    { timeout: 30_000, interval: 200 },
  );
}

interface PodParts {
  readonly account?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly by?: KubeClient;
}

interface CreatedPod {
  readonly name: string;
  readonly uid: string;
}

async function createPod(parts: PodParts = {}): Promise<CreatedPod> {
  const { account = "trainer", labels = { [LABEL.injected]: "true" }, annotations = {}, by = admin } = parts;
  const body = {
    metadata: { generateName: "train-", labels, annotations: { kept: "as it is", ...annotations } },
    spec: { serviceAccountName: account, containers: [{ name: "main", image: "worker" }] },
  };
  return identityOf(await by.request("POST", PODS, { body }));
}

function identityOf(pod: Readonly<Record<string, unknown>>): CreatedPod {
  const metadata = asMap(pod["metadata"]);
  return { name: String(metadata["name"]), uid: String(metadata["uid"]) };
}

/** A client with a token of the account: bound to this Pod, as from a kubelet, or not bound. */
async function clientOf(account: string, pod?: CreatedPod, namespace = NAMESPACE): Promise<KubeClient> {
  const bound = pod && ["--bound-object-kind=Pod", `--bound-object-name=${pod.name}`, `--bound-object-uid=${pod.uid}`];
  const token = (await cluster.kubectl(["create", "token", account, "-n", namespace, ...(bound ?? [])])).trim();
  return remember(clientWith(token));
}

function clientWith(token: string): KubeClient {
  return new KubeClient(tokenConfig({ url: cluster.server, ca: cluster.credentials.authority.cert }, token));
}

function patch(by: KubeClient, { name }: CreatedPod, body: unknown, subresource = ""): Promise<unknown> {
  return by.request("PATCH", `${PODS}/${name}${subresource}`, { body, contentType: MERGE_PATCH });
}

function annotate(
  by: KubeClient,
  pod: CreatedPod,
  annotations: Readonly<Record<string, string | null>>,
  subresource = "",
) {
  return patch(by, pod, { metadata: { uid: pod.uid, annotations } }, subresource);
}

async function annotationsOf({ name }: CreatedPod): Promise<Readonly<Record<string, string>>> {
  return readAnnotations(await admin.request("GET", `${PODS}/${name}`));
}

function place(
  { name }: CreatedPod,
  node: string,
  annotations: Readonly<Record<string, string>> = {},
  labels: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const body = { metadata: { name, annotations, labels }, target: { kind: "Node", name: node } };
  return admin.request("POST", `${PODS}/${name}/binding`, { body });
}

/** Server-side apply of this metadata, which also creates the Pod if it does not exist. */
function apply(by: KubeClient, name: string, metadata: object): Promise<unknown> {
  const spec = { containers: [{ name: "main", image: "worker" }] };
  const body = { apiVersion: "v1", kind: "Pod", metadata: { ...metadata, name }, spec };
  const query = { fieldManager: "test", force: true };
  return by.request("PATCH", `${PODS}/${name}`, { body, contentType: APPLY_PATCH, query });
}

/** A token that does not expire and names no Pod. Its user info has no extra fields. */
async function secretToken(account: string): Promise<string> {
  const secrets = `/api/v1/namespaces/${NAMESPACE}/secrets`;
  const metadata = { name: `${account}-token`, annotations: { "kubernetes.io/service-account.name": account } };
  await admin.request("POST", secrets, { body: { metadata, type: "kubernetes.io/service-account-token" } });
  const token = await vi.waitFor(async () => {
    const data = asMap((await admin.request("GET", `${secrets}/${metadata.name}`))["data"]);
    expect(data).toHaveProperty("token");
    return String(data["token"]);
  });
  return Buffer.from(token, "base64").toString();
}

/** The objects that an installed object refers to, as "Kind name". */
function referencesOf(object: Readonly<Record<string, unknown>>): string[] {
  const spec = asMap(object["spec"]);
  const podSpec = asMap(asMap(spec["template"])["spec"]);
  const roleRef = asMap(object["roleRef"]);
  const named = (kind: string, name: unknown) => (typeof name === "string" ? [`${kind} ${name}`] : []);
  return [
    ...named("Namespace", asMap(object["metadata"])["namespace"]),
    ...named(String(roleRef["kind"]), roleRef["name"]),
    ...asList(object["subjects"]).flatMap((subject) => named("ServiceAccount", asMap(subject)["name"])),
    ...named("ValidatingAdmissionPolicy", spec["policyName"]),
    ...named("ServiceAccount", podSpec["serviceAccountName"]),
    ...asList(podSpec["volumes"]).flatMap((volume) => named("ConfigMap", asMap(asMap(volume)["configMap"])["name"])),
  ];
}

/** A Pod of the group, with the client of its agent. */
async function member(account = "trainer"): Promise<{ pod: CreatedPod; agent: KubeClient }> {
  const pod = await createPod({ account });
  return { pod, agent: await clientOf(account, pod) };
}

describe("the agent's role, with the token of a Pod", () => {
  it("lets the agent write its own Pod's epoch, again, and a higher one", async () => {
    const { pod, agent } = await member();
    for (const epoch of ["0", "1", "1", "4", "2147483647"]) await annotate(agent, pod, { [EPOCH]: epoch });
    expect(await annotationsOf(pod)).toEqual({ kept: "as it is", [EPOCH]: "2147483647" });
  });

  it("lets the agent write what is left in its Pod's shared memory, beside the epoch, and take it back", async () => {
    const { pod, agent } = await member();
    await annotate(agent, pod, { [EPOCH]: "1", [LEFTOVER]: "68719476736" });
    await annotate(agent, pod, { [EPOCH]: "2", [LEFTOVER]: "1048576" });
    expect(await annotationsOf(pod)).toEqual({ kept: "as it is", [EPOCH]: "2", [LEFTOVER]: "1048576" });
    await annotate(agent, pod, { [EPOCH]: "3", [LEFTOVER]: null });
    expect(await annotationsOf(pod)).toEqual({ kept: "as it is", [EPOCH]: "3" });
  });

  it("lets the agent write its epoch although the Pod template sets what is left in shared memory", async () => {
    const pod = await createPod({ annotations: { [LEFTOVER]: "much" } });
    await annotate(await clientOf("trainer", pod), pod, { [EPOCH]: "1" });
    expect((await annotationsOf(pod))[EPOCH]).toBe("1");
  });

  it("lets the agent report about the progress of its worker, and take it back", async () => {
    const { pod, agent } = await member();
    await annotate(agent, pod, { [EPOCH]: "1", [HANG]: null, [LAST_STEP]: "41" });
    for (const report of ["1/0/1767225600000", "1/1/1767225600000/42", "1/1/1767225600000/42/3"]) {
      await annotate(agent, pod, { [HANG]: report });
      expect(await annotationsOf(pod)).toMatchObject({ [HANG]: report, [LAST_STEP]: "41" });
    }
    await annotate(agent, pod, { [HANG]: null });
    await annotate(agent, pod, { [EPOCH]: "2", [HANG]: null, [LAST_STEP]: null });
    expect(await annotationsOf(pod)).toEqual({ kept: "as it is", [EPOCH]: "2" });
  });

  it("lets an agent of JobSet's own protocol write its attempt", async () => {
    const { pod, agent } = await member("reader");
    await annotate(agent, pod, { [ATTEMPT]: "0" });
    await annotate(agent, pod, { [ATTEMPT]: "1" });
    await expect(annotate(agent, pod, { [ATTEMPT]: "0" })).rejects.toThrow("never moves back");
    expect((await annotationsOf(pod))[ATTEMPT]).toBe("1");
  });

  it.each<[string, Readonly<Record<string, string | null>>, string]>([
    ["a lower epoch", { [EPOCH]: "2" }, "never moves back"],
    ["no epoch any more", { [EPOCH]: null }, "stays once it is written"],
    ["a negative epoch", { [EPOCH]: "-1" }, "whole number"],
    ["an epoch with a leading zero", { [EPOCH]: "04" }, "whole number"],
    ["an epoch that is no number", { [EPOCH]: "next" }, "whole number"],
    ["an empty epoch", { [EPOCH]: "" }, "whole number"],
    ["an epoch beyond int32", { [EPOCH]: "2147483648" }, "whole number"],
    ["an epoch of ten thousand digits", { [EPOCH]: "9".repeat(10_000) }, "whole number"],
    ["a leftover that is no number", { [LEFTOVER]: "1 MiB" }, "whole number of bytes"],
    ["an empty leftover", { [LEFTOVER]: "" }, "whole number of bytes"],
    ["a leftover of ten thousand digits", { [LEFTOVER]: "9".repeat(10_000) }, "whole number of bytes"],
    ["a report in words", { [HANG]: "1/stopped/1767225600000" }, "three to five whole numbers"],
    ["a report of one number", { [HANG]: "1" }, "three to five whole numbers"],
    ["a report of six numbers", { [HANG]: "1/1/1/1/1/1" }, "three to five whole numbers"],
    ["a report of ten thousand digits", { [HANG]: `1/1/${"9".repeat(10_000)}` }, "three to five whole numbers"],
    ["an empty report", { [HANG]: "" }, "three to five whole numbers"],
    ["a last step that is no number", { [LAST_STEP]: "step 4" }, "last-step is a whole number"],
    ["another annotation", { other: "1" }, "not for other annotations"],
    ["another annotation beside the epoch", { [EPOCH]: "4", other: "1" }, "not for other annotations"],
    ["a changed annotation", { kept: "changed" }, "not for other annotations"],
    ["an annotation less", { kept: null }, "not for other annotations"],
  ])("denies %s", async (_what, annotations, message) => {
    const { pod, agent } = await member();
    await annotate(agent, pod, { [EPOCH]: "3" });
    await expect(annotate(agent, pod, annotations)).rejects.toThrow(message);
    expect(await annotationsOf(pod)).toEqual({ kept: "as it is", [EPOCH]: "3" });
  });

  it.each<[string, object]>([
    ["a label", { metadata: { labels: { other: "1" } } }],
    ["a label less", { metadata: { labels: { [LABEL.injected]: null } } }],
    ["a finalizer", { metadata: { finalizers: ["example.com/held"] } }],
    ["an owner", { metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "n", uid: "u" }] } }],
    ["a deadline", { spec: { activeDeadlineSeconds: 1 } }],
    ["a toleration", { spec: { tolerations: [{ key: "gpu", operator: "Exists" }] } }],
  ])("denies %s", async (_what, change) => {
    const { pod, agent } = await member();
    await expect(patch(agent, pod, change)).rejects.toThrow("not for other fields");
  });

  it("denies a change of the image, and ignores a status", async () => {
    const { pod, agent } = await member();
    const body = [{ op: "replace", path: "/spec/containers/0/image", value: "other" }];
    const image = agent.request("PATCH", `${PODS}/${pod.name}`, { body, contentType: JSON_PATCH });
    await expect(image).rejects.toThrow("not for other fields");
    // The API server drops a status outside of the subresource.
    await patch(agent, pod, { status: { phase: "Failed" } });
    expect((await admin.request("GET", `${PODS}/${pod.name}`))["status"]).toMatchObject({ phase: "Pending" });
  });

  it("denies the epoch of another Pod of the same account", async () => {
    const { agent } = await member();
    const other = await createPod();
    await expect(annotate(agent, other, { [EPOCH]: "1" })).rejects.toThrow(DENIED);
    await expect(annotate(agent, other, { [LEFTOVER]: "1" })).rejects.toThrow(DENIED);
    await expect(patch(agent, other, { metadata: { annotations: { [EPOCH]: "1" } } })).rejects.toThrow(DENIED);
    expect(await annotationsOf(other)).toEqual({ kept: "as it is" });
  });

  it("denies any change of a Pod that belongs to no group", async () => {
    const { agent } = await member();
    const other = await createPod({ labels: {} });
    await expect(annotate(agent, other, { other: "1" })).rejects.toThrow("token issued for that Pod");
    await expect(annotate(agent, other, { [EPOCH]: "1" })).rejects.toThrow("token issued for that Pod");
  });

  it("allows nothing with a token that is not bound to a Pod", async () => {
    const pod = await createPod();
    const loose = await clientOf("trainer");
    await expect(annotate(loose, pod, { [EPOCH]: "1" })).rejects.toThrow(DENIED);
  });

  it("does not cover subresources, other verbs or other namespaces", async () => {
    const { pod, agent } = await member();
    const annotations = { [EPOCH]: "1" };
    await expect(annotate(agent, pod, annotations, "/status")).rejects.toThrow('cannot patch resource "pods/status"');
    await expect(annotate(agent, pod, annotations, "/resize")).rejects.toThrow("cannot patch");
    await expect(agent.request("GET", `${PODS}/${pod.name}`)).rejects.toThrow("cannot get");
    await expect(agent.request("GET", PODS)).rejects.toThrow("cannot list");
    await expect(agent.request("DELETE", `${PODS}/${pod.name}`)).rejects.toThrow("cannot delete");
    await expect(agent.request("PUT", `${PODS}/${pod.name}`, { body: {} })).rejects.toThrow("cannot update");
    await expect(createPod({ by: agent })).rejects.toThrow("cannot create");
    const applied = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "new" },
      spec: { containers: [{ name: "main", image: "worker" }] },
    };
    const apply = { body: applied, contentType: APPLY_PATCH, query: { fieldManager: "test" } };
    await expect(agent.request("PATCH", `${PODS}/new`, apply)).rejects.toThrow("cannot create");
    await expect(agent.request("GET", "/apis/reprise.dev/v1alpha1/groupepochs")).rejects.toThrow("cannot list");
    const elsewhere = "/apis/reprise.dev/v1alpha1/namespaces/default/groupepochs/uid";
    await expect(agent.request("GET", elsewhere)).rejects.toThrow("cannot get");
  });

  it("allows to watch the epochs of groups of its own namespace, but neither to get nor to write them", async () => {
    const { agent } = await member();
    const objectsOf = (plural: string) => `/apis/reprise.dev/v1alpha1/namespaces/${NAMESPACE}/${plural}`;
    const path = objectsOf("groupepochs");
    await expect(agent.request("GET", `${path}/uid`)).rejects.toThrow("cannot get");
    const query = { watch: true, fieldSelector: "metadata.name=uid" };
    const watch = await agent.stream(path, { query });
    watch.destroy();
    await expect(agent.request("POST", path, { body: {} })).rejects.toThrow("cannot create");
    const write = { body: {}, contentType: MERGE_PATCH };
    await expect(agent.request("PATCH", `${path}/uid`, write)).rejects.toThrow("cannot patch");
    const authoritative = objectsOf("inplacerestarts");
    await expect(agent.stream(authoritative, { query })).rejects.toThrow("cannot watch");
    await expect(agent.request("PATCH", `${authoritative}/train/status`, write)).rejects.toThrow("cannot patch");
  });

  it("denies a write to a Pod that took the name of a deleted one", async () => {
    const { pod, agent } = await member();
    await expect(patch(agent, pod, { metadata: { uid: "another", annotations: { [EPOCH]: "1" } } })).rejects.toThrow();
    expect(await annotationsOf(pod)).toEqual({ kept: "as it is" });
  });
});

describe("an account with its own permissions", () => {
  it("keeps all of them, also on other Pods, although it has the agent's role too", async () => {
    const { agent: operator } = await member("operator");
    const other = await createPod();
    await annotate(operator, other, { other: "1" });
    await patch(operator, other, { status: { phase: "Running" } }, "/status");
    const body = [{ op: "replace", path: "/spec/containers/0/image", value: "newer" }];
    await operator.request("PATCH", `${PODS}/${other.name}`, { body, contentType: JSON_PATCH });
    expect((await annotationsOf(other))["other"]).toBe("1");
  });

  it("can write the epoch of its own Pod, but of no other", async () => {
    const { pod, agent: operator } = await member("operator");
    const other = await createPod();
    await expect(annotate(operator, other, { [EPOCH]: "1" })).rejects.toThrow("written by its own agent");
    await annotate(operator, pod, { [EPOCH]: "1" });
  });
});

describe("the epoch of a Pod", () => {
  it.each([EPOCH, ATTEMPT])("cannot be set at creation, not even by an administrator (%s)", async (key) => {
    await expect(createPod({ annotations: { [key]: "7" } })).rejects.toThrow("created without one");
  });

  it("cannot be set before the label that makes the Pod a member", async () => {
    const pod = await createPod({ labels: {}, annotations: { [EPOCH]: "7" } });
    const labeled = { metadata: { labels: { [LABEL.injected]: "true" } } };
    await expect(patch(admin, pod, labeled)).rejects.toThrow("written by its own agent");
  });

  it("cannot be set by the Binding to a node", async () => {
    const pod = await createPod();
    await expect(place(pod, "n1", { [EPOCH]: "7" })).rejects.toThrow("a Binding carries none");
    await place(pod, "n1", { "scheduler.example/score": "1" });
    expect(await annotationsOf(pod)).toEqual({ kept: "as it is", "scheduler.example/score": "1" });
  });

  it("cannot be written, raised or removed by an administrator", async () => {
    const { pod, agent } = await member();
    await annotate(agent, pod, { [EPOCH]: "1" });
    for (const value of ["1000", null]) {
      await expect(annotate(admin, pod, { [EPOCH]: value })).rejects.toThrow("written by its own agent");
    }
    expect((await annotationsOf(pod))[EPOCH]).toBe("1");
  });

  it("is not protected on Pods that belong to no group", async () => {
    const pod = await createPod({ labels: {}, annotations: { [ATTEMPT]: "3" } });
    await annotate(admin, pod, { [ATTEMPT]: "2" }, "");
    expect((await annotationsOf(pod))[ATTEMPT]).toBe("2");
  });
});

describe("an account that can create and patch Pods", () => {
  const labels = { [LABEL.injected]: "true", [JOBSET.nameKey]: "train", [JOBSET.replicatedJobKey]: "workers" };

  it("cannot create a Pod with the label of a group, or add that label", async () => {
    const plain = await clientOf("plain");
    await expect(createPod({ by: plain, labels })).rejects.toThrow("only the Job controller creates");
    const pod = await createPod({ by: plain, labels: {} });
    await expect(patch(plain, pod, { metadata: { labels } }, "")).rejects.toThrow("only the Job controller creates");
  });

  it("can create and change every other Pod, and the other labels of a member", async () => {
    const plain = await clientOf("plain");
    const other = await createPod({ by: plain, labels: { app: "web" } });
    await patch(plain, other, { metadata: { labels: { app: "api" } } }, "");
    const { pod } = await member();
    await patch(plain, pod, { metadata: { labels: { app: "api" } } }, "");
  });
});

describe("ways around the policies", () => {
  const membership = { [LABEL.injected]: "true" };

  it("do not forge an epoch: update, every kind of patch, and server-side apply", async () => {
    const { pod, agent } = await member();
    await annotate(agent, pod, { [EPOCH]: "1" });
    const path = `${PODS}/${pod.name}`;
    const stored = await admin.request("GET", path);
    const metadata = asMap(stored["metadata"]);
    const annotations = { ...readAnnotations(stored), [EPOCH]: "7" };
    const forged = { ...stored, metadata: { ...metadata, annotations } };
    const body = [{ op: "replace", path: `/metadata/annotations/${EPOCH.replace("/", "~1")}`, value: "7" }];
    const merge = { body: { metadata: { annotations } }, contentType: STRATEGIC_MERGE_PATCH };
    for (const send of [
      () => admin.request("PUT", path, { body: forged }),
      () => admin.request("PATCH", path, merge),
      () => admin.request("PATCH", path, { body, contentType: JSON_PATCH }),
      () => apply(admin, pod.name, { labels: membership, annotations: { [EPOCH]: "7" } }),
    ]) {
      await expect(send()).rejects.toThrow("written by its own agent");
    }
    expect((await annotationsOf(pod))[EPOCH]).toBe("1");
  });

  it("do not create a member: server-side apply, with an epoch or by another account", async () => {
    const forged = apply(admin, "applied", { labels: membership, annotations: { [EPOCH]: "7" } });
    await expect(forged).rejects.toThrow("created without one");
    const plain = await clientOf("plain");
    await expect(apply(plain, "applied", { labels: membership })).rejects.toThrow("only the Job controller creates");
    await apply(plain, "applied", { labels: { app: "web" } });
    await expect(apply(plain, "applied", { labels: membership })).rejects.toThrow("only the Job controller creates");
  });

  it("do not add a member: the labels of a Binding", async () => {
    const pod = await createPod({ labels: {} });
    await expect(place(pod, "n1", {}, membership)).rejects.toThrow("a Binding carries none");
    const body = { metadata: { name: pod.name, labels: membership }, target: { kind: "Node", name: "n1" } };
    const legacy = admin.request("POST", `/api/v1/namespaces/${NAMESPACE}/bindings`, { body });
    await expect(legacy).rejects.toThrow("a Binding carries none");
    await place(pod, "n1", {}, { zone: "a" });
    const { metadata } = await admin.request("GET", `${PODS}/${pod.name}`);
    expect(asMap(metadata)["labels"]).toEqual({ zone: "a" });
  });

  it("do not bring in an epoch: without the label, and labeled again", async () => {
    const { pod, agent } = await member();
    await annotate(agent, pod, { [EPOCH]: "1" });
    const labels = { [LABEL.injected]: null };
    const atOnce = patch(admin, pod, { metadata: { labels, annotations: { [EPOCH]: "7" } } });
    await expect(atOnce).rejects.toThrow("written by its own agent");
    await patch(admin, pod, { metadata: { labels } });
    await annotate(admin, pod, { [EPOCH]: "7" });
    await expect(patch(admin, pod, { metadata: { labels: membership } })).rejects.toThrow("written by its own agent");
    const plain = await clientOf("plain");
    await expect(patch(plain, pod, { metadata: { labels: membership } })).rejects.toThrow("only the Job controller");
    // The agent's role is narrowed on a Pod that has lost its label, too.
    await expect(patch(agent, pod, { metadata: { labels: membership } })).rejects.toThrow(DENIED);
  });

  it.each(["/ephemeralcontainers", "/resize"])(
    "do not lead through pods%s, which keeps metadata",
    async (subresource) => {
      const { pod, agent } = await member();
      await annotate(agent, pod, { [EPOCH]: "1" });
      const other = await createPod({ labels: {} });
      const forged = { metadata: { labels: membership, annotations: { [EPOCH]: "7" } } };
      for (const { name } of [pod, other]) {
        const options = { body: forged, contentType: STRATEGIC_MERGE_PATCH };
        await admin.request("PATCH", `${PODS}/${name}${subresource}`, options);
      }
      expect((await annotationsOf(pod))[EPOCH]).toBe("1");
      const { metadata } = await admin.request("GET", `${PODS}/${other.name}`);
      expect(asMap(metadata)["labels"]).toBeUndefined();
      expect(await annotationsOf(other)).toEqual({ kept: "as it is" });
    },
  );

  it("lead through pods/status, for those who may write it: they can make a Pod look failed anyway", async () => {
    const { pod } = await member();
    await annotate(admin, pod, { [EPOCH]: "7" }, "/status");
    expect((await annotationsOf(pod))[EPOCH]).toBe("7");
  });

  it("do not widen the agent's role: server-side apply, on its own Pod and on others", async () => {
    const { pod, agent } = await member();
    const other = await createPod({ labels: {} });
    await expect(apply(agent, other.name, { annotations: { other: "1" } })).rejects.toThrow(
      "token issued for that Pod",
    );
    const labels = { ...membership, other: "1" };
    await expect(apply(agent, pod.name, { labels })).rejects.toThrow("not for other fields");
    const epoch = { labels: membership, annotations: { [EPOCH]: "1", other: "1" } };
    await expect(apply(agent, pod.name, epoch)).rejects.toThrow("not for other annotations");
  });

  it("do not make the own Pod of an account a member", async () => {
    const pod = await createPod({ labels: {} });
    const agent = await clientOf("trainer", pod);
    const added = patch(agent, pod, { metadata: { labels: membership, annotations: { [EPOCH]: "1" } } });
    await expect(added).rejects.toThrow("only the Job controller creates");
  });

  it("are not open to users and accounts without extra fields", async () => {
    const { pod } = await member();
    const other = await createPod({ labels: {} });
    const bySomeone = (annotation: string) => {
      const user = ["--as=someone", "--as-group=system:masters"];
      return cluster.kubectl(["annotate", "pod", pod.name, "-n", NAMESPACE, annotation, ...user]);
    };
    await bySomeone("note=a");
    await expect(bySomeone(`${EPOCH}=7`)).rejects.toThrow("written by its own agent");
    const old = remember(clientWith(await secretToken("trainer")));
    await expect(annotate(old, other, { a: "b" })).rejects.toThrow("token issued for that Pod");
    await expect(annotate(old, pod, { [EPOCH]: "7" })).rejects.toThrow(DENIED);
  });
});

describe("a Pod with as many annotations as fit", () => {
  it("gets its epoch, and is protected", async () => {
    // Annotations may have 256 KiB in all.
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`key-${index}`, "0123456789"]));
    const pod = await createPod({ annotations: many });
    const agent = await clientOf("trainer", pod);
    await annotate(agent, pod, { [EPOCH]: "1" });
    await expect(annotate(agent, pod, { "key-9999": "1" })).rejects.toThrow("not for other annotations");
  });
});

describe("ordinary work on the Pods of a group", () => {
  it("is allowed: labels, annotations and images by authorized accounts, status by the kubelet", async () => {
    const { pod, agent } = await member();
    await annotate(agent, pod, { [EPOCH]: "1" });
    await patch(admin, pod, { metadata: { labels: { team: "a" }, annotations: { note: "b" } } }, "");
    await place(pod, "n1");
    const file = cluster.credentials.kubeconfig("kubelet", "system:node:n1", "system:nodes");
    const kubelet = remember(new KubeClient(kubeconfigOf(file)));
    const status = { phase: "Running", podIP: "10.0.0.9", podIPs: [{ ip: "10.0.0.9" }] };
    await patch(kubelet, pod, { status }, "/status");
    const stored = await admin.request("GET", `${PODS}/${pod.name}`);
    expect(stored["status"]).toMatchObject({ phase: "Running" });
    expect(readAnnotations(stored)).toMatchObject({ [EPOCH]: "1", note: "b" });
  });

  it("is allowed: a real Job creates Pods, counts them and removes its finalizer", async () => {
    const body = {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: "train" },
      spec: {
        template: {
          metadata: { labels: { [LABEL.injected]: "true" } },
          spec: {
            serviceAccountName: "trainer",
            restartPolicy: "Never",
            containers: [{ name: "main", image: "worker" }],
          },
        },
      },
    };
    const jobs = `/apis/batch/v1/namespaces/${NAMESPACE}/jobs`;
    await admin.request("POST", jobs, { body });
    const query = { labelSelector: "batch.kubernetes.io/job-name=train" };
    const pods = await vi.waitFor(
      async () => {
        const list = asList((await admin.request("GET", PODS, { query }))["items"]);
        expect(list).toHaveLength(1);
        return list;
      },
      { timeout: 10_000 },
    );
    const metadata = asMap(asMap(pods[0])["metadata"]);
    const pod = { name: String(metadata["name"]), uid: String(metadata["uid"]) };
    await annotate(await clientOf("trainer", pod), pod, { [EPOCH]: "1" });
    await patch(admin, pod, { status: { phase: "Succeeded" } }, "/status");
    await vi.waitFor(
      async () => {
        const job = await admin.request("GET", `${jobs}/train`);
        expect(job["status"]).toMatchObject({ succeeded: 1 });
        const stored = await admin.request("GET", `${PODS}/${pod.name}`);
        expect(asMap(stored["metadata"])["finalizers"]).toBeUndefined();
      },
      { timeout: 10_000 },
    );
  });

  it("is allowed: removing a finalizer with a JSON patch", async () => {
    const pod = await createPod();
    await patch(admin, pod, { metadata: { finalizers: ["example.com/held"] } }, "");
    const body = [{ op: "remove", path: "/metadata/finalizers" }];
    await admin.request("PATCH", `${PODS}/${pod.name}`, { body, contentType: JSON_PATCH });
  });
});

describe("the manifests", () => {
  it("have policies without type warnings", async () => {
    const list = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
    await vi.waitFor(
      async () => {
        const policies = asList((await admin.request("GET", list))["items"]).map(asMap);
        expect(policies.map((policy) => asMap(policy["metadata"])["name"])).toEqual([
          "reprise-epoch-binding",
          "reprise-pods",
        ]);
        for (const policy of policies) {
          const status = asMap(policy["status"]);
          expect(status["observedGeneration"]).toBe(1);
          expect(asMap(status["typeChecking"])["expressionWarnings"] ?? []).toEqual([]);
        }
      },
      { timeout: 20_000 },
    );
  });

  it("have a policy for Pods that refuses what its condition matches, even if no validation explains it", async () => {
    const path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/reprise-pods";
    const { matchConditions, validations } = asMap((await admin.request("GET", path))["spec"]);
    expect(asList(matchConditions)).toHaveLength(1);
    expect(asList(validations).at(-1)).toMatchObject({ expression: "false" });
  });

  it("compose into one installation in which every reference resolves", async () => {
    const rendered = await cluster.kubectl(["kustomize", "manifests/default"]);
    const objects = parseAllDocuments(rendered).map((document) => asMap(document.toJS()));
    const names = objects.map(({ kind, metadata }) => `${kind} ${asMap(metadata)["name"]}`);
    expect(new Set(names).size).toBe(names.length);
    const missing = objects.flatMap((object) => referencesOf(object)).filter((reference) => !names.includes(reference));
    expect(missing).toEqual([]);
  });

  it("assign the agents' requests to their own priority level", async () => {
    const { pod, agent } = await member();
    await annotate(agent, pod, { [EPOCH]: "1" });
    const metrics = await cluster.kubectl(["get", "--raw", "/metrics"]);
    const dispatched = "apiserver_flowcontrol_dispatched_requests_total";
    const labels = `{flow_schema="reprise-agents",priority_level="reprise-agents"}`;
    const [, count] = metrics.split(`\n${dispatched}${labels} `);
    expect(count).toMatch(/^[1-9]/);
    const schema = await admin.request("GET", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/reprise-agents");
    const conditions = asList(asMap(schema["status"])["conditions"]);
    expect(conditions).toContainEqual(expect.objectContaining({ type: "Dangling", status: "False" }));
  });
});

/**
 * The policy for Pods has each rule twice (docs/decisions/0016-one-pod-policy.md). Here it stands alone twice, in two
 * namespaces: as the condition without the validations that explain it, and as those validations without the condition.
 * The last describe, because the real policies must not answer for them.
 */
describe("the match condition of the policy for Pods and its validations", () => {
  const POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
  const HALVES = ["condition", "validations"] as const;
  const labels = { [LABEL.injected]: "true" };

  const STORED: Readonly<Record<string, object>> = {
    "a Pod": { annotations: { kept: "as it is" } },
    "a Pod with an epoch": { annotations: { [EPOCH]: "5" } },
    "a new member": { labels, annotations: { kept: "as it is" } },
    "a member": { labels, annotations: { kept: "as it is", [EPOCH]: "5", [LEFTOVER]: "7" } },
    "a member with an attempt": { labels, annotations: { [ATTEMPT]: "5" } },
    "a member with a wrong epoch": { labels, annotations: { [EPOCH]: "x", [LEFTOVER]: "much" } },
  };

  const annotated = (annotations: Readonly<Record<string, string | null>>) => ({ metadata: { annotations } });
  const CHANGES: Readonly<Record<string, object>> = {
    nothing: annotated({}),
    ...Object.fromEntries(
      [null, "4", "5", "6", "06", "-1", "", "x", "2147483647", "2147483648"].map((epoch) => [
        `the epoch ${epoch}`,
        annotated({ [EPOCH]: epoch }),
      ]),
    ),
    "the attempt 4": annotated({ [ATTEMPT]: "4" }),
    "the attempt 6": annotated({ [ATTEMPT]: "6" }),
    "the epoch 6 and no attempt": annotated({ [EPOCH]: "6", [ATTEMPT]: null }),
    "the epoch 6 and the leftover 1": annotated({ [EPOCH]: "6", [LEFTOVER]: "1" }),
    "the epoch 6 and the leftover x": annotated({ [EPOCH]: "6", [LEFTOVER]: "x" }),
    "no leftover": annotated({ [LEFTOVER]: null }),
    "another annotation": annotated({ other: "1" }),
    "an annotation less": annotated({ kept: null }),
    "a changed annotation": annotated({ kept: "changed" }),
    membership: { metadata: { labels } },
    "membership with the epoch 6": { metadata: { labels, annotations: { [EPOCH]: "6" } } },
    "no membership": { metadata: { labels: { [LABEL.injected]: null } } },
    "no membership and no epoch": {
      metadata: { labels: { [LABEL.injected]: null }, annotations: { [EPOCH]: null } },
    },
    "another label": { metadata: { labels: { app: "web" } } },
    "a finalizer": { metadata: { finalizers: ["example.com/held"] } },
    "an owner": { metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "n", uid: "u" }] } },
    "a deadline": { spec: { activeDeadlineSeconds: 1 } },
  };

  const CREATIONS: Readonly<Record<string, object>> = {
    ...STORED,
    "a member with the epoch 0": { labels, annotations: { [EPOCH]: "0" } },
  };

  const pods = (half: string) => `/api/v1/namespaces/by-${half}/pods`;
  const spec = { serviceAccountName: "trainer", containers: [{ name: "main", image: "worker" }] };

  /** Who writes to a Pod in the namespace of a half. */
  type Writer = (half: string, pod?: CreatedPod) => Promise<KubeClient>;
  let writers: Readonly<Record<string, Writer>>;
  /** The Pods of each half, by what they are. */
  const stored = new Map<string, CreatedPod>();

  beforeAll(async () => {
    const { kubectl } = cluster;
    for (const half of HALVES) {
      const namespace = `by-${half}`;
      await kubectl(["create", "namespace", namespace]);
      for (const account of ["trainer", "operator", "plain"]) {
        await kubectl(["create", "serviceaccount", account, "-n", namespace]);
      }
      await kubectl(["create", "role", "pods", "-n", namespace, "--verb=create,patch", "--resource=pods"]);
      await kubectl(["create", "role", "operator", "-n", namespace, "--verb=create,patch,update", "--resource=pods"]);
      for (const [account, role] of [
        ["trainer", "--clusterrole=reprise-agent-writer"],
        // It may also create Pods, so that the API server asks the policy.
        ["trainer", "--role=pods"],
        ["operator", "--clusterrole=reprise-agent-writer"],
        ["operator", "--role=operator"],
        ["plain", "--role=pods"],
      ] as const) {
        const name = `${account}-${role.replace(/^.*=/, "")}`;
        await kubectl([
          "create",
          "rolebinding",
          name,
          "-n",
          namespace,
          role,
          `--serviceaccount=${namespace}:${account}`,
        ]);
      }
    }
    const real = await admin.request("GET", `${POLICIES}/reprise-pods`);
    await kubectl(["delete", "validatingadmissionpolicybindings", "--all"]);
    for (const half of HALVES) {
      for (const [what, metadata] of Object.entries(STORED)) {
        const body = { metadata: { generateName: "stored-", ...metadata }, spec };
        // The real policies are enforced for a moment after their bindings are gone.
        const answer = await vi.waitFor(() => admin.request("POST", pods(half), { body }), { timeout: 30_000 });
        stored.set(`${half}: ${what}`, identityOf(answer));
      }
    }
    await stand(real);
    const tokens = new Map<string, Promise<KubeClient>>();
    const token = (account: string) => (half: string, pod?: CreatedPod) => {
      const key = [half, account, pod?.uid].join();
      const client = tokens.get(key) ?? clientOf(account, pod, `by-${half}`);
      tokens.set(key, client);
      return client;
    };
    writers = {
      "an administrator": async () => admin,
      "the agent of the Pod": token("trainer"),
      "the agent of another Pod": (half) => token("trainer")(half, stored.get(`${half}: a member`)),
      "an account with the role and its own rights": (half) => token("operator")(half),
      "an account without the role": (half) => token("plain")(half),
    };
  }, 120_000);

  /** Installs each half of the policy for its namespace, and waits until both are enforced. */
  async function stand(policy: Readonly<Record<string, unknown>>): Promise<void> {
    const { matchConditions, validations, ...rest } = asMap(policy["spec"]);
    const refuse = { expression: "false" };
    const halves = {
      condition: { ...rest, matchConditions, validations: [refuse] },
      validations: { ...rest, validations: asList(validations).slice(0, -1) },
    };
    for (const half of HALVES) {
      const metadata = { name: `by-${half}` };
      await admin.request("POST", POLICIES, { body: { metadata, spec: halves[half] } });
      const matchResources = { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": metadata.name } } };
      await admin.request("POST", POLICIES.replace("policies", "policybindings"), {
        body: { metadata, spec: { policyName: metadata.name, validationActions: ["Deny"], matchResources } },
      });
      const forged = { metadata: { generateName: "forged-", ...STORED["a member"] }, spec };
      await vi.waitFor(
        async () => expect(await verdict(admin.request("POST", pods(half), dry(forged)))).toBe("refused"),
        { timeout: 30_000, interval: 200 },
      );
    }
  }

  const dry = (body: object) => ({ body, query: { dryRun: "All" } });

  /** Whether the policy refuses the request, the API server does, or neither. */
  async function verdict(request: Promise<unknown>): Promise<string> {
    try {
      await request;
      return "allowed";
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return error.detail.includes("ValidatingAdmissionPolicy 'by-") ? "refused" : `rejected with ${error.status}`;
    }
  }

  /** Expects the same verdict on each write from both halves, and that some are refused and some are not. */
  async function expectAgreement(writes: ReadonlyMap<string, (half: string) => Promise<unknown>>): Promise<void> {
    const seen = { refused: 0, allowed: 0 };
    const differences: string[] = [];
    const judge = async ([what, write]: [string, (half: string) => Promise<unknown>]) => {
      const [condition, validations] = await Promise.all(HALVES.map((half) => verdict(write(half))));
      if (condition !== validations) differences.push(`${what}: ${condition} by the condition, else ${validations}`);
      if (condition === "refused" || condition === "allowed") seen[condition] += 1;
    };
    const all = [...writes];
    for (let next = all.splice(0, 16); next.length > 0; next = all.splice(0, 16)) await Promise.all(next.map(judge));
    expect(differences).toEqual([]);
    expect(Math.min(seen.refused, seen.allowed)).toBeGreaterThanOrEqual(writes.size / 5);
  }

  it("refuse the same changes of Pods", async () => {
    const writes = new Map<string, (half: string) => Promise<unknown>>();
    for (const [who, writer] of Object.entries(writers)) {
      for (const what of Object.keys(STORED)) {
        for (const [change, body] of Object.entries(CHANGES)) {
          writes.set(`${who}, ${what}, ${change}`, async (half) => {
            const pod = stored.get(`${half}: ${what}`);
            const client = await writer(half, pod);
            const options = { ...dry(body), contentType: MERGE_PATCH };
            return await client.request("PATCH", `${pods(half)}/${pod?.name}`, options);
          });
        }
      }
    }
    await expectAgreement(writes);
  }, 240_000);

  it("refuse the same creations of Pods", async () => {
    const writes = new Map<string, (half: string) => Promise<unknown>>();
    for (const [who, writer] of Object.entries(writers)) {
      for (const [what, metadata] of Object.entries(CREATIONS)) {
        const body = { metadata: { generateName: "new-", ...metadata }, spec };
        writes.set(`${who}, ${what}`, async (half) => (await writer(half)).request("POST", pods(half), dry(body)));
      }
    }
    await expectAgreement(writes);
  });
});
