// The client and the Event recorder against a real API server: credentials, rotation, errors and Event series.

import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CoreV1Api } from "@kubernetes/client-node";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { parse, stringify } from "yaml";
import { isJsonObject } from "../../src/kube/api-error.ts";
import { APPLY_PATCH, connect, JSON_PATCH, type KubeClient, MERGE_PATCH } from "../../src/kube/client.ts";
import { EventRecorder, type Occurrence } from "../../src/kube/events.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane.ts";

let plane: ControlPlane;
let client: KubeClient;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "reprise-client-"));
  plane = await startControlPlane();
  client = connect({ kubeconfig: plane.kubeconfig });
});

afterAll(async () => {
  await client?.close();
  await plane?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The admin kubeconfig with other cluster or user fields. */
function kubeconfig(change: { cluster?: Record<string, unknown>; user?: Record<string, unknown> }): string {
  const config = parse(readFileSync(plane.kubeconfig, "utf8"));
  Object.assign(config.clusters[0].cluster, change.cluster);
  if (change.user !== undefined) config.users[0].user = change.user;
  const file = join(folder, `kubeconfig-${Math.random()}`);
  writeFileSync(file, stringify(config));
  return file;
}

async function serviceAccount(name: string): Promise<void> {
  await client.request("POST", "/api/v1/namespaces/default/serviceaccounts", { body: { metadata: { name } } });
}

async function tokenOf(name: string): Promise<string> {
  const path = `/api/v1/namespaces/default/serviceaccounts/${name}/token`;
  const answer = await client.request("POST", path, { body: { spec: { expirationSeconds: 600 } } });
  const status = answer["status"];
  return isJsonObject(status) ? String(status["token"]) : "";
}

async function whoAmI(as: KubeClient): Promise<unknown> {
  const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const { status } = await as.request("POST", path, { body });
  return isJsonObject(status) && isJsonObject(status["userInfo"]) ? status["userInfo"]["username"] : undefined;
}

test("typed calls, merge patch, server-side apply and JSON patch work over one client", async () => {
  const core = client.api(CoreV1Api);
  await core.createNamespacedConfigMap({ namespace: "default", body: { metadata: { name: "m" }, data: { a: "1" } } });
  const path = "/api/v1/namespaces/default/configmaps/m";
  await client.request("PATCH", path, { body: { data: { b: "2" } }, contentType: MERGE_PATCH });
  const applied = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "m" }, data: { c: "3" } };
  await client.request("PATCH", path, { body: applied, contentType: APPLY_PATCH, query: { fieldManager: "test" } });
  const operations = [{ op: "remove", path: "/data/a" }];
  await client.request("PATCH", path, { body: operations, contentType: JSON_PATCH });
  const { data } = await core.readNamespacedConfigMap({ namespace: "default", name: "m" });
  expect(data).toEqual({ b: "2", c: "3" });
});

test("a stale resourceVersion is a conflict, a missing object not found", async () => {
  const path = "/api/v1/namespaces/default/configmaps";
  await client.request("POST", path, { body: { metadata: { name: "stale" } } });
  const body = { metadata: { resourceVersion: "1" }, data: { a: "1" } };
  const conflict = client.request("PATCH", `${path}/stale`, { body, contentType: MERGE_PATCH });
  await expect(conflict).rejects.toMatchObject({
    status: 409,
    reason: "Conflict",
    method: "PATCH",
    path: `${path}/stale`,
  });
  await expect(client.request("GET", `${path}/none`)).rejects.toMatchObject({ status: 404, reason: "NotFound" });
});

test("a rotated token file changes the identity of the next request", async () => {
  await serviceAccount("one");
  await serviceAccount("two");
  const file = join(folder, "token");
  writeFileSync(file, await tokenOf("one"));
  const rotating = connect({ kubeconfig: kubeconfig({ user: { tokenFile: file } }) });
  expect(await whoAmI(rotating)).toBe("system:serviceaccount:default:one");
  writeFileSync(`${file}.next`, `${await tokenOf("two")}\n`);
  renameSync(`${file}.next`, file);
  expect(await whoAmI(rotating)).toBe("system:serviceaccount:default:two");
  await rotating.close();
});

test("inside a Pod the client uses its service account, namespace, CA and rotating token", async () => {
  await serviceAccount("pod-one");
  await serviceAccount("pod-two");
  const secrets = join(folder, "var/run/secrets/kubernetes.io/serviceaccount");
  mkdirSync(secrets, { recursive: true });
  writeFileSync(join(secrets, "token"), await tokenOf("pod-one"));
  writeFileSync(join(secrets, "namespace"), "reprise-system");
  const { clusters } = parse(readFileSync(plane.kubeconfig, "utf8"));
  const authority = clusters[0].cluster;
  writeFileSync(
    join(secrets, "ca.crt"),
    authority["certificate-authority"] === undefined
      ? Buffer.from(authority["certificate-authority-data"], "base64")
      : readFileSync(authority["certificate-authority"]),
  );
  vi.stubEnv("KUBECONFIG", undefined);
  vi.stubEnv("KUBERNETES_SERVICE_HOST", "127.0.0.1");
  vi.stubEnv("KUBERNETES_SERVICE_PORT", new URL(plane.server).port);
  const inside = connect({ root: folder });
  vi.unstubAllEnvs();
  expect(inside.namespace).toBe("reprise-system");
  expect(await whoAmI(inside)).toBe("system:serviceaccount:default:pod-one");
  writeFileSync(join(secrets, "token"), await tokenOf("pod-two"));
  expect(await whoAmI(inside)).toBe("system:serviceaccount:default:pod-two");
  await inside.close();
});

test("unknown credentials give an error that says what to do", async () => {
  const stranger = connect({ kubeconfig: kubeconfig({ user: { token: "made-up" } }) });
  await expect(stranger.request("GET", "/api/v1/nodes")).rejects.toMatchObject({
    code: "API_UNAUTHORIZED",
    status: 401,
  });
  await expect(stranger.request("GET", "/api/v1/nodes")).rejects.toThrow(/renew this user's token/);
  await stranger.close();
});

test("a missing permission is named in the server's own message", async () => {
  await serviceAccount("plain");
  const plain = connect({ kubeconfig: kubeconfig({ user: { token: await tokenOf("plain") } }) });
  await expect(plain.request("GET", "/api/v1/nodes")).rejects.toThrow(
    /403 Forbidden: nodes is forbidden.*; grant this user/,
  );
  await plain.close();
});

test("a server certificate from another CA is rejected, unless verification is disabled", async () => {
  const cluster = { "certificate-authority": undefined, "certificate-authority-data": undefined };
  const doubtful = connect({ kubeconfig: kubeconfig({ cluster }) });
  const refused = doubtful.request("GET", "/version");
  await expect(refused).rejects.toMatchObject({ code: "API_TLS_REJECTED" });
  await expect(refused).rejects.toThrow(plane.server);
  await doubtful.close();

  const careless = connect({ kubeconfig: kubeconfig({ cluster: { ...cluster, "insecure-skip-tls-verify": true } }) });
  expect(await careless.request("GET", "/version")).toMatchObject({ major: "1" });
  await careless.close();
});

test("repeated Events become a series on one object", async () => {
  const events = new EventRecorder({
    client,
    reportingController: "reprise.dev/controller",
    reportingInstance: "controller-0",
    onError: (error) => {
      throw error;
    },
    limits: { updateEveryMs: 300 },
  });
  const { metadata } = await client.request("GET", "/api/v1/namespaces/default");
  const occurrence: Occurrence = {
    regarding: {
      apiVersion: "v1",
      kind: "ConfigMap",
      namespace: "default",
      name: "m",
      uid: isJsonObject(metadata) ? String(metadata["uid"]) : "",
    },
    type: "Warning",
    reason: "WorkerFailed",
    action: "RestartInPlace",
    note: "worker exited with 1",
  };
  const recorded = async () => {
    const { items } = await client.request("GET", "/apis/events.k8s.io/v1/namespaces/default/events", {
      query: { fieldSelector: "reason=WorkerFailed" },
    });
    return Array.isArray(items) ? items : [];
  };
  events.record(occurrence);
  await vi.waitFor(async () => expect(await recorded()).toHaveLength(1));
  for (let i = 0; i < 50; i++) events.record(occurrence);
  await vi.waitFor(async () => expect(await recorded()).toMatchObject([{ series: { count: 51 } }]));
  events.record(occurrence);
  await events.stop();
  expect(await recorded()).toMatchObject([{ type: "Warning", note: "worker exited with 1", series: { count: 52 } }]);
  expect(events.dropped).toBe(0);
});
