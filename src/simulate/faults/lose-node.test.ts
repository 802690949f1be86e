import { expect, it } from "vitest";
import { Cluster } from "../cluster.ts";
import { loseNode, NODE_LOSS_MS } from "./lose-node.ts";

const STAGE = { name: "workers", replicas: 1, parallelism: 6, dependsOn: [] };

it("Pods of a lost node keep their last status, then terminate, and are removed at the end", () => {
  const cluster = new Cluster(1, { stages: [STAGE], inOrder: false, maxRestarts: 10 });
  const { api, schedule } = cluster.world;
  const runFor = (ms: number) => schedule.runUntil(schedule.now + ms, () => false);
  runFor(20_000);
  const before = new Map(api.list("pod").map((pod) => [pod.uid, pod]));
  const onNodes = new Set(cluster.nodes.pods.map(({ name }) => name));
  loseNode.strike(cluster);
  const left = new Set(cluster.nodes.pods.map(({ name }) => name));
  const lost = [...before.values()].filter(({ name }) => onNodes.has(name) && !left.has(name));
  expect(lost).toHaveLength(2);
  runFor(39_000);
  for (const pod of lost) expect(api.get("pod", pod.uid)).toEqual(pod);
  runFor(15_000);
  for (const { uid } of lost) expect(api.get("pod", uid)).toMatchObject({ phase: "Running", deletion: {} });
  runFor(NODE_LOSS_MS - 54_000);
  for (const { uid } of lost) expect(api.get("pod", uid)).toBeUndefined();
});
