// The CRDs on a real API server: what they accept, reject and print, and what agents receive of a GroupEpoch.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentEpochs } from "../../controller/shell/agent-epochs.ts";
import { GROUP_EPOCH, type GroupEpoch, readGroupEpoch } from "../../src/api/group-epoch.ts";
import { type InPlaceRestart, readInPlaceRestart } from "../../src/api/in-place-restart.ts";
import { type JobSet, readJobSet } from "../../src/api/jobset.ts";
import { asList, asMap } from "../../src/json/fields.ts";
import { connect, type KubeClient } from "../../src/kube/client.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane.ts";

let cluster: ControlPlane;
let client: KubeClient;

beforeAll(async () => {
  cluster = await startControlPlane();
  await cluster.kubectl(["apply", "--server-side", "-k", "manifests/crd"]);
  await cluster.kubectl(["wait", "--for=condition=Established", "--timeout=30s", ...CRDS.map((crd) => `crd/${crd}`)]);
  client = connect({ kubeconfig: cluster.kubeconfig });
});

afterAll(() => cluster?.stop());

const CRDS = ["groupepochs.reprise.dev", "inplacerestarts.reprise.dev"] as const;

const healthy = {
  deprecatedEpoch: 3,
  syncedEpoch: 4,
  heldStages: ["evaluators"],
  restarts: 3,
  phase: "Running",
  ready: "8/8",
  history: [
    {
      cause: { reason: "ContainerExited", pod: "train-workers-0-1-abcde", container: "main", exitCode: 3 },
      action: "RecreatePod",
      target: "0c3d6f0e-0000-4000-8000-000000000001",
      streak: { restarts: 5, slot: "train-workers-0/1", failures: 3 },
      backoffUntil: "2026-01-01T00:00:20.100Z",
      fromEpoch: 3,
      toEpoch: 4,
      counted: true,
      failureSeen: "2026-01-01T00:00:00.100Z",
      deprecated: "2026-01-01T00:00:00.105Z",
      allRestarted: "2026-01-01T00:00:02.500Z",
      synced: "2026-01-01T00:00:02.505Z",
      allRunning: "2026-01-01T00:00:03.400Z",
    },
    {
      cause: { reason: "ContainerExited", exitCode: 1, message: "no device", candidates: ["a", "b"] },
      action: "RecreatePod",
      targets: ["0c3d6f0e-0000-4000-8000-000000000001", "0c3d6f0e-0000-4000-8000-000000000002"],
      streak: { restarts: 3, unexplained: 3 },
      fromEpoch: 4,
      counted: true,
    },
  ],
  conditions: [
    { type: "Ready", status: "True", reason: "AllRunning", message: "", lastTransitionTime: "2026-01-01T00:00:03Z" },
  ],
};

let created = 0;

/** A new object with this status, created as the controller does it: create, then write the status. */
async function create(status?: object): Promise<string> {
  const name = `train-${++created}`;
  const object = {
    apiVersion: "reprise.dev/v1alpha1",
    kind: "InPlaceRestart",
    metadata: { name },
    spec: { jobSetUID: "6a1b9b1e-0000-4000-8000-000000000001" },
  };
  await cluster.kubectl(["create", "-f", "-"], { input: JSON.stringify(object) });
  if (status !== undefined) await patchStatus(name, status);
  return name;
}

function patchStatus(name: string, status: unknown): Promise<string> {
  const patch = JSON.stringify({ status });
  return cluster.kubectl(["patch", "ipr", name, "--subresource=status", "--type=merge", "-p", patch]);
}

async function read(name: string): Promise<{ spec: unknown; status?: unknown }> {
  return JSON.parse(await cluster.kubectl(["get", "ipr", name, "-o", "json"]));
}

describe("the InPlaceRestart CRD", () => {
  it("keeps every field that the controller writes", async () => {
    const name = await create(healthy);
    expect((await read(name)).status).toEqual(healthy);
  });

  it("shows phase, epoch, restarts, readiness and age under the short name", async () => {
    const name = await create(healthy);
    const [header = "", row = ""] = (await cluster.kubectl(["get", "ipr", name])).trimEnd().split("\n");
    expect(header.split(/\s+/)).toEqual(["NAME", "PHASE", "EPOCH", "RESTARTS", "READY", "AGE"]);
    expect(row.split(/\s+/).slice(0, 5)).toEqual([name, "Running", "4", "3", "8/8"]);
  });

  it.each(CRDS)("has no schema violations and is structural: %s", async (crd) => {
    const conditions = await cluster.kubectl(["get", "crd", crd, "-o", "jsonpath={.status.conditions[*].type}"]);
    expect(conditions.split(" ")).not.toContain("NonStructuralSchema");
    expect(conditions.split(" ")).toContain("Established");
  });

  it("ignores status in the main resource, and spec in the status subresource", async () => {
    const name = await create(healthy);
    await cluster.kubectl(["patch", "ipr", name, "--type=merge", "-p", JSON.stringify({ status: { syncedEpoch: 9 } })]);
    await cluster.kubectl([
      "patch",
      "ipr",
      name,
      "--subresource=status",
      "--type=merge",
      "-p",
      JSON.stringify({ spec: { jobSetUID: "other" }, status: { syncedEpoch: 5 } }),
    ]);
    expect(await read(name)).toMatchObject({
      spec: { jobSetUID: "6a1b9b1e-0000-4000-8000-000000000001" },
      status: { syncedEpoch: 5 },
    });
  });

  it("lets epochs and restarts stay or advance, up to deprecating the synced epoch itself", async () => {
    const name = await create(healthy);
    await patchStatus(name, { deprecatedEpoch: 4, restarts: 4, phase: "Restarting" });
    await patchStatus(name, { syncedEpoch: 5, phase: "Running" });
    expect((await read(name)).status).toMatchObject({ deprecatedEpoch: 4, syncedEpoch: 5, restarts: 4 });
  });

  const record = healthy.history[0];
  it.each<[string, object, string]>([
    ["deprecatedEpoch that moves back", { deprecatedEpoch: 2 }, "deprecatedEpoch must not decrease"],
    ["syncedEpoch that moves back", { syncedEpoch: 3 }, "syncedEpoch must not decrease"],
    [
      "deprecatedEpoch above syncedEpoch",
      { deprecatedEpoch: 5 },
      "deprecatedEpoch must not be greater than syncedEpoch",
    ],
    ["restarts that move back", { restarts: 2 }, "restarts must not decrease"],
    ["restarts that vanish", { restarts: null }, "restarts must not decrease"],
    ["an epoch that vanishes", { syncedEpoch: null }, "status.syncedEpoch: Required value"],
    ["an epoch that is text", { syncedEpoch: "5" }, 'must be of type integer: "string"'],
    ["an epoch beyond int32", { syncedEpoch: 2_147_483_648 }, "must be of type integer with format int32"],
    ["an unknown phase", { phase: "Paused" }, 'Unsupported value: "Paused"'],
    ["a readiness that is not a fraction", { ready: "most" }, "status.ready"],
    ["a history that is too long", { history: Array(11).fill(record) }, "must have at most 10 items"],
    [
      "too many held names",
      { heldStages: Array.from({ length: 1025 }, (_, i) => `r${i}`) },
      "must have at most 1024 items",
    ],
    ["the same held name twice", { heldStages: ["a", "a"] }, 'Duplicate value: "a"'],
    [
      "a restart into the same epoch",
      { history: [{ ...record, toEpoch: 3 }] },
      "toEpoch must be greater than fromEpoch",
    ],
    [
      "an unknown cause",
      { history: [{ ...record, cause: { reason: "Bored" } }] },
      'status.history[0].cause.reason: Unsupported value: "Bored"',
    ],
    ["a step that is not a time", { history: [{ ...record, synced: "soon" }] }, "status.history[0].synced"],
    [
      "a condition without a reason",
      { conditions: [{ type: "Ready", status: "True" }] },
      "status.conditions[0].reason",
    ],
  ])("refuses %s", async (_what, change, message) => {
    const name = await create(healthy);
    await expect(patchStatus(name, change)).rejects.toThrow(message);
    expect((await read(name)).status).toEqual(healthy);
  });

  it("rejects a first status below zero or without both epochs", async () => {
    const name = await create();
    const first = { deprecatedEpoch: 0, syncedEpoch: 0, phase: "Starting" };
    await expect(patchStatus(name, { ...first, deprecatedEpoch: -1 })).rejects.toThrow(
      "should be greater than or equal to 0",
    );
    await expect(patchStatus(name, { syncedEpoch: 0, phase: "Starting" })).rejects.toThrow(
      "deprecatedEpoch: Required value",
    );
    await expect(patchStatus(name, { deprecatedEpoch: 0, syncedEpoch: 0 })).rejects.toThrow("phase: Required value");
    await patchStatus(name, first);
  });

  it("rejects the removal of its status", async () => {
    const name = await create(healthy);
    await expect(patchStatus(name, null)).rejects.toThrow("status must not be removed once it is written");
  });

  it("belongs to one JobSet for life", async () => {
    const name = await create();
    const patch = JSON.stringify({ spec: { jobSetUID: "another" } });
    await expect(cluster.kubectl(["patch", "ipr", name, "--type=merge", "-p", patch])).rejects.toThrow(
      "jobSetUID is immutable",
    );
  });

  it.each([
    ["without a JobSet UID", {}, "spec.jobSetUID: Required value"],
    ["with an empty JobSet UID", { jobSetUID: "" }, "should be at least 1 chars long"],
  ])("refuses an object %s", async (_what, spec, message) => {
    const object = { apiVersion: "reprise.dev/v1alpha1", kind: "InPlaceRestart", metadata: { name: "bad" }, spec };
    await expect(cluster.kubectl(["create", "-f", "-"], { input: JSON.stringify(object) })).rejects.toThrow(message);
  });
});

describe("a GroupEpoch", () => {
  const EPOCHS = `/apis/${GROUP_EPOCH.group}/${GROUP_EPOCH.version}/namespaces/default/${GROUP_EPOCH.plural}`;
  const { signal } = new AbortController();

  /** A group, and what the controller knows of it. */
  async function group(): Promise<{ readonly jobSet: JobSet; readonly read: () => Promise<InPlaceRestart> }> {
    const name = await create({ ...healthy, heldStages: [] });
    const metadata = { name, namespace: "default", uid: randomUUID(), resourceVersion: "1" };
    const spec = { replicatedJobs: [] };
    const jobSet = readJobSet({ apiVersion: "jobset.x-k8s.io/v1alpha2", kind: "JobSet", metadata, spec });
    const read = async () => ({
      ...readInPlaceRestart(JSON.parse(await cluster.kubectl(["get", "ipr", name, "-o", "json"]))),
      // The object was created for any JobSet.
      jobSetUID: jobSet.uid,
    });
    return { jobSet, read };
  }

  async function stored({ uid }: JobSet): Promise<{ readonly version: string; readonly epochs?: GroupEpoch }> {
    const raw = await client.request("GET", `${EPOCHS}/${uid}`);
    const epochs = readGroupEpoch(raw);
    const version = String(asMap(raw["metadata"])["resourceVersion"]);
    return epochs === undefined ? { version } : { version, epochs };
  }

  /** The watch events of this object since a version, as an agent gets them. */
  async function events({ uid }: JobSet, resourceVersion: string): Promise<readonly string[]> {
    const query = `watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3D${uid}&resourceVersion=${resourceVersion}`;
    const text = await cluster.kubectl(["get", "--raw", `${EPOCHS}?${query}`]);
    return text.split("\n").filter((line) => line !== "");
  }

  it("is written twice in a restart, and each change is less than 600 bytes", async () => {
    const { jobSet, read } = await group();
    const epochs = new AgentEpochs(client, Date.now);
    await epochs.ensure("key", jobSet, await read(), signal);
    const { version } = await stored(jobSet);
    for (const change of [
      { deprecatedEpoch: 4, phase: "Restarting" },
      { ready: "7/8" },
      { syncedEpoch: 5, phase: "Running" },
      { ready: "8/8", restarts: 4 },
    ]) {
      await patchStatus(jobSet.name, change);
      await epochs.ensure("key", jobSet, await read(), signal);
    }
    const seen = await events(jobSet, version);
    const sizes = seen.map((event) => Buffer.byteLength(event));
    console.info(`a change of a GroupEpoch takes ${sizes.join(" and ")} bytes:\n${seen.at(-1)}`);
    expect(sizes).toHaveLength(2);
    for (const size of sizes) expect(size).toBeLessThan(600);
    expect(seen.join()).not.toContain("managedFields");
    expect(await stored(jobSet)).toMatchObject({ epochs: { deprecatedEpoch: 4, syncedEpoch: 5, heldStages: [] } });
  });

  it("does not change when a controller that knows nothing repeats the same version", async () => {
    const { jobSet, read } = await group();
    const object = await read();
    await new AgentEpochs(client, Date.now).ensure("key", jobSet, object, signal);
    // The first repetition removes what the API server notes about the creation.
    await new AgentEpochs(client, Date.now).ensure("key", jobSet, object, signal);
    const { version } = await stored(jobSet);
    await new AgentEpochs(client, Date.now).ensure("key", jobSet, object, signal);
    expect(await stored(jobSet)).toMatchObject({ version });
  });

  it("is not changed by a controller with an older view, and that is no error", async () => {
    const { jobSet, read } = await group();
    const [current, stale] = [new AgentEpochs(client, Date.now), new AgentEpochs(client, Date.now)];
    const old = await read();
    await patchStatus(jobSet.name, { deprecatedEpoch: 4, phase: "Restarting" });
    await current.ensure("key", jobSet, await read(), signal);
    const before = await stored(jobSet);
    expect(await stale.ensure("key", jobSet, old, signal)).toBe(10_000);
    expect(await stored(jobSet)).toEqual(before);
  });

  it("goes on as that of the next InPlaceRestart when the first one is lost, also with lower epochs", async () => {
    const { jobSet, read } = await group();
    const epochs = new AgentEpochs(client, Date.now);
    await epochs.ensure("key", jobSet, await read(), signal);
    const next = await create({ ...healthy, deprecatedEpoch: 0, syncedEpoch: 0, history: [] });
    const raw = JSON.parse(await cluster.kubectl(["get", "ipr", next, "-o", "json"]));
    const object = { ...readInPlaceRestart(raw), jobSetUID: jobSet.uid };
    await epochs.ensure("key", jobSet, object, signal);
    expect(await stored(jobSet)).toMatchObject({ epochs: { deprecatedEpoch: 0, syncedEpoch: 0 } });
    const { metadata } = await client.request("GET", `${EPOCHS}/${jobSet.uid}`);
    expect(asList(asMap(metadata)["ownerReferences"])).toMatchObject([{ uid: object.uid }]);
  });

  it.each<[string, object, string]>([
    ["an older version", { version: 6 }, "version must not decrease"],
    ["another content of the same version", { syncedEpoch: 5 }, "one version must not have two contents"],
    [
      "deprecatedEpoch above syncedEpoch",
      { version: 8, deprecatedEpoch: 5 },
      "deprecatedEpoch must not be greater than syncedEpoch",
    ],
    ["an epoch that vanishes", { version: 8, syncedEpoch: null }, "spec.syncedEpoch: Required value"],
    ["a version that vanishes", { version: null }, "spec.version: Required value"],
  ])("refuses %s", async (_what, change, message) => {
    const name = randomUUID();
    const spec = { version: 7, deprecatedEpoch: 3, syncedEpoch: 4, heldStages: ["evaluators"] };
    const object = { apiVersion: "reprise.dev/v1alpha1", kind: "GroupEpoch", metadata: { name }, spec };
    await cluster.kubectl(["create", "-f", "-"], { input: JSON.stringify(object) });
    const patch = JSON.stringify({ spec: change });
    await expect(cluster.kubectl(["patch", "groupepoch", name, "--type=merge", "-p", patch])).rejects.toThrow(message);
  });
});
