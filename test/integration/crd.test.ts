// The InPlaceRestart CRD on a real API server: what it accepts, rejects and prints.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane.ts";

let cluster: ControlPlane;

beforeAll(async () => {
  cluster = await startControlPlane();
  await cluster.kubectl(["apply", "--server-side", "-k", "manifests/crd"]);
  await cluster.kubectl(["wait", "--for=condition=Established", "--timeout=30s", "crd/inplacerestarts.reprise.dev"]);
});

afterAll(() => cluster?.stop());

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

  it("has no schema violations and is structural", async () => {
    const conditions = await cluster.kubectl([
      "get",
      "crd",
      "inplacerestarts.reprise.dev",
      "-o",
      "jsonpath={.status.conditions[*].type}",
    ]);
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
