// A leader-election candidate as its own process. While it leads, it writes to a ConfigMap as fast as it can. It prints
// one JSON line per event of its term, with the monotonic clock, which all processes of this machine share.
// Arguments: kubeconfig, identity, lease, renew deadline and retry period in milliseconds.

import { connect, MERGE_PATCH } from "../../src/kube/client.ts";
import { LeaderElection } from "../../src/kube/leader.ts";

const [kubeconfig = "", identity = "", leaseMs, renewDeadlineMs, retryMs] = process.argv.slice(2);
const client = connect({ kubeconfig });

function print(event: "leading" | "writing" | "written" | "ended" | "released" | "error", detail = ""): void {
  const monotonicMs = Number(process.hrtime.bigint() / 1_000n) / 1_000;
  process.stdout.write(`${JSON.stringify({ identity, event, monotonicMs, wall: new Date().toISOString(), detail })}\n`);
}

const election = new LeaderElection({
  client,
  namespace: "default",
  name: "election",
  identity,
  timing: { leaseMs: Number(leaseMs), renewDeadlineMs: Number(renewDeadlineMs), retryMs: Number(retryMs) },
  onError: (error) => print("error", String(error)),
  lead: async (signal) => {
    print("leading");
    for (let turn = 0; election.isLeader() && !signal.aborted; turn++) {
      print("writing");
      const body = { data: { writer: identity, turn: String(turn) } };
      const path = "/api/v1/namespaces/default/configmaps/written-by-the-leader";
      await client.request("PATCH", path, { body, contentType: MERGE_PATCH, signal }).catch(() => {});
      print("written");
    }
    print("ended");
  },
});

process.once("SIGTERM", () => {
  void election.stop().then(async () => {
    print("released");
    await client.close();
  });
});
election.start();
