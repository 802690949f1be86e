// A watch that is quiet for two minutes. In its own file, so that it waits in parallel with all others.

import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { connect, type KubeClient } from "../../src/kube/client.ts";
import { Reflector } from "../../src/kube/reflector.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane.ts";
import { counted } from "./kube-traffic.ts";

let plane: ControlPlane;
let client: KubeClient;

beforeAll(async () => {
  plane = await startControlPlane();
  client = connect({ kubeconfig: plane.kubeconfig });
});

afterAll(async () => {
  await client?.close();
  await plane?.stop();
});

const COLLECTIONS = ["/api/v1/namespaces/default/configmaps", "/api/v1/pods", "/apis/batch/v1/jobs"];

test("watches without events for two minutes keep their request, and deliver the next change", async () => {
  const errors: unknown[] = [];
  const watched = COLLECTIONS.map((path) => {
    const traffic = counted(client);
    const keys: string[] = [];
    const reflector = new Reflector<null>({
      client: traffic,
      path,
      project: () => null,
      onChange: ({ key }) => keys.push(key),
      onError: (error) => errors.push(error),
    });
    reflector.start();
    return { reflector, traffic, keys };
  });
  await Promise.all(watched.map(({ reflector }) => reflector.whenSynced()));
  await wait(120_000);

  for (const { traffic } of watched) {
    expect(traffic.lists).toHaveLength(1);
    expect(traffic.watches).toHaveLength(1);
  }
  await client.request("POST", "/api/v1/namespaces/default/configmaps", { body: { metadata: { name: "at-last" } } });
  await vi.waitFor(() => expect(watched[0]?.keys).toContain("default/at-last"));
  expect(errors).toEqual([]);
  await Promise.all(watched.map(({ reflector }) => reflector.stop()));
}, 125_000);
