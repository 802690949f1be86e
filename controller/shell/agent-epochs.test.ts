// The requests for a GroupEpoch. test/integration/crd.test.ts sends them to a real API server.
import { describe, expect, it } from "vitest";
import { type InPlaceRestart, readInPlaceRestart } from "../../src/api/in-place-restart.ts";
import { type JobSet, readJobSet } from "../../src/api/jobset.ts";
import { ApiError } from "../../src/kube/api-error.ts";
import { AgentEpochs } from "./agent-epochs.ts";

const { signal } = new AbortController();
const PATH = "/apis/reprise.dev/v1alpha1/namespaces/ml/groupepochs";

function jobSet(metadata: object = {}, status: object = {}): JobSet {
  return readJobSet({ metadata: { name: "train", namespace: "ml", uid: "js", ...metadata }, spec: {}, status });
}

function object(version: number, deprecatedEpoch: number, syncedEpoch: number): InPlaceRestart {
  return readInPlaceRestart({
    metadata: { name: "train", namespace: "ml", uid: "owner", resourceVersion: String(version) },
    spec: { jobSetUID: "js" },
    status: { deprecatedEpoch, syncedEpoch, phase: "Running" },
  });
}

/** The requests that were sent. The API server answers the first ones with these codes, and then accepts everything. */
function agents(...codes: number[]) {
  const sent: { readonly request: string; readonly body: unknown }[] = [];
  const request = async (method: string, path: string, { body }: { readonly body: unknown }) => {
    sent.push({ request: `${method} ${path}`, body });
    const status = codes.shift();
    if (status !== undefined) throw new ApiError({ server: "test", method, path, status, body: "{}" });
    return {};
  };
  let now = 0;
  const epochs = new AgentEpochs({ request }, () => now);
  return {
    sent,
    ensure: (seen: InPlaceRestart, of = jobSet()) => epochs.ensure("ml/train", of, seen, signal),
    forget: () => epochs.forget("ml/train"),
    pass: (ms: number) => {
      now += ms;
    },
  };
}

describe("the epochs for agents", () => {
  it("are patched under the UID of the JobSet, with their owner and without managed fields", async () => {
    const { sent, ensure } = agents();
    expect(await ensure(object(5, 3, 4))).toBe(300_000);
    const api = { apiVersion: "reprise.dev/v1alpha1", kind: "InPlaceRestart" };
    const owner = { ...api, name: "train", uid: "owner", controller: true };
    const body = {
      metadata: { ownerReferences: [owner], managedFields: [{}] },
      spec: { version: 5, deprecatedEpoch: 3, syncedEpoch: 4, heldStages: [] },
    };
    expect(sent).toEqual([{ request: `PATCH ${PATH}/js`, body }]);
  });

  it("are created if there are none, but not for a JobSet that is being deleted", async () => {
    const first = agents(404);
    await first.ensure(object(5, 0, 0));
    expect(first.sent.map(({ request }) => request)).toEqual([`PATCH ${PATH}/js`, `POST ${PATH}`]);
    expect(first.sent[1]?.body).toMatchObject({ kind: "GroupEpoch", metadata: { name: "js" }, spec: { version: 5 } });
    const last = agents(404);
    await last.ensure(object(5, 0, 0), jobSet({ deletionTimestamp: "2026-01-01T00:00:00Z" }));
    expect(last.sent.map(({ request }) => request)).toEqual([`PATCH ${PATH}/js`]);
  });

  it("are written only when they change", async () => {
    const { sent, ensure } = agents();
    for (const seen of [object(5, 3, 4), object(6, 3, 4), object(7, 4, 4), object(8, 4, 4)]) await ensure(seen);
    expect(sent.map(({ body }) => body)).toMatchObject([{ spec: { version: 5 } }, { spec: { version: 7 } }]);
  });

  it("are not written for a JobSet that has ended", async () => {
    const { sent, ensure } = agents();
    const conditions = [{ type: "Completed", status: "True" }];
    await ensure(object(5, 3, 4), jobSet({}, { conditions, terminalState: "Completed" }));
    expect(sent).toEqual([]);
  });

  it("are offered again later if the API server has newer ones", async () => {
    const { sent, ensure, pass } = agents(422);
    expect(await ensure(object(5, 3, 4))).toBe(10_000);
    pass(10_000);
    expect(await ensure(object(5, 3, 4))).toBe(300_000);
    expect(sent).toHaveLength(2);
  });

  it("are written again after any other refusal", async () => {
    const { sent, ensure } = agents(503, 404, 409);
    await expect(ensure(object(5, 3, 4))).rejects.toThrow("503");
    await expect(ensure(object(5, 3, 4))).rejects.toThrow("409");
    await ensure(object(5, 3, 4));
    expect(sent.map(({ request }) => request.split(" ", 1)[0])).toEqual(["PATCH", "PATCH", "POST", "PATCH"]);
  });

  it("are written again for the next JobSet of the same name", async () => {
    const { sent, ensure, forget } = agents();
    await ensure(object(5, 3, 4));
    forget();
    await ensure(object(5, 3, 4));
    expect(sent).toHaveLength(2);
  });
});
