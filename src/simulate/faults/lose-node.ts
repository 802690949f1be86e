// A node loses power. Its Pods stop at once, are evicted much later, and are freed by force after that.
import { NODES } from "../shape.ts";
import { always, type FaultDefinition } from "./fault.ts";

/** A peer that waits for a lost worker gives up long before the node is missed. */
const PEER_GIVES_UP_MS = [1_000, 30_000] as const;
const UNREACHABLE_MS = 40_000;
const EVICTED_MS = [40_000, 50_000] as const;
const FREED_MS = [60_000, 80_000] as const;

/** By then a lost node has had all of its effects. */
export const NODE_LOSS_MS = FREED_MS[1] + 5_000;

export const loseNode: FaultDefinition = {
  text: "a node loses power",
  byRequest: false,
  // Peers fail first. The restart is uncounted only if the node is missed before the group is back.
  mayCount: always,
  strike({ world, nodes, controllers }) {
    const { api, random, schedule, unreachable, poweredOff } = world;
    const node = random.pick(NODES) ?? "";
    const lost = api.list("pod").filter((pod) => pod.node === node);
    const peers = nodes.pods.filter((pod) => pod.hasWorker && !lost.some(({ name }) => name === pod.name));
    if (lost.length > 0) world.after(...PEER_GIVES_UP_MS, () => random.pick(peers)?.endWorker(1));
    poweredOff.add(node);
    schedule.after(UNREACHABLE_MS, () => {
      if (!poweredOff.has(node)) return;
      unreachable.set(node, {});
      controllers.nodesChanged();
    });
    schedule.after(FREED_MS[1], () => {
      poweredOff.delete(node);
      unreachable.delete(node);
      controllers.nodesChanged();
    });
    for (const { uid } of lost) {
      nodes.powerOff(uid);
      world.after(...EVICTED_MS, () => nodes.delete(uid, { disrupted: true, forced: false }));
      world.after(...FREED_MS, () => nodes.remove(uid));
    }
  },
};
