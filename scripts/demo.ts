// npm run demo: shows what reprise does, first without a cluster, then on a real Kubernetes on this machine. Options
// after `--`: --quick stops after the first part, --keep leaves the cluster running.
import { parseArgs, styleText } from "node:util";
import { connect } from "../src/kube/client.ts";
import { Cluster, down, freeSlot } from "../test/cluster/cluster.ts";
import { checkGo, checkLinux, checkRoot, PrerequisiteError, thisMachine } from "../test/cluster/prerequisites.ts";
import { terminalProgress } from "../test/cluster/progress.ts";
import { installReprise, loadReprise } from "../test/e2e/install-manifests.ts";
import { imageName } from "../test/image/reprise-image.ts";
import { showInjection } from "./demo/instant.ts";
import { createNamespaces, recover, showSteps, WITH, WITHOUT } from "./demo/recovery.ts";
import { showTimeline } from "./demo/timeline.ts";

const EXAMPLE = "examples/train.yaml";
const TAG = "demo";
/** Away from slot 0, the default of `npm run cluster`. */
const FIRST_SLOT = 8;

const { values: options } = parseArgs({ options: { quick: { type: "boolean" }, keep: { type: "boolean" } } });

title("1. A plain JobSet meets the webhook");
await showInjection(EXAMPLE);
title("2. A simulated failure");
showTimeline();
if (options.quick !== true) {
  const missing = missingPrerequisite();
  if (missing === undefined) await showRecovery();
  else process.stdout.write(`\nThe demo ends here, without a real cluster. ${missing}\n`);
}

function missingPrerequisite(): string | undefined {
  const machine = thisMachine();
  try {
    checkLinux(machine);
    checkRoot(machine);
    checkGo(machine);
    return undefined;
  } catch (error) {
    if (error instanceof PrerequisiteError) return error.message;
    throw error;
  }
}

async function showRecovery(): Promise<void> {
  title("3. A real Kubernetes on this machine");
  const slot = freeSlot(FIRST_SLOT);
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= down(slot).then(() => {});
    return closing;
  };
  let isInterrupted = false;
  const interrupt = () => {
    isInterrupted = true;
    process.stderr.write("\nstopping the cluster ...\n");
    void close().then(() => process.exit(130));
  };
  process.once("SIGINT", interrupt);
  process.once("SIGTERM", interrupt);
  let keep = false;
  try {
    const progress = terminalProgress();
    const parts = ["jobset", "cert-manager"] as const;
    const cluster = await Cluster.up({ slot, nodes: 2, parts, upstreamInPlace: false, progress });
    await loadReprise(cluster, imageName(TAG));
    const step = progress.step("installing reprise with kubectl apply -k");
    await installReprise(cluster, TAG);
    await createNamespaces(cluster);
    step.done();
    title("4. The same JobSet, the same failure, with and without reprise");
    const client = connect({ kubeconfig: cluster.kubeconfig });
    const inPlace = await recover(cluster, client, WITH, EXAMPLE);
    await showSteps(cluster, WITH);
    process.stdout.write("\n");
    const recreated = await recover(cluster, client, WITHOUT, EXAMPLE);
    await client.close();
    const ratio = (inPlace.seconds / recreated.seconds).toFixed(2);
    const result = styleText("bold", `With reprise, recovery took ${ratio} times as long as without`);
    process.stdout.write(`\n${result}, and every Pod stayed on its node.\n`);
    process.stdout.write("One run each, on two nodes that share this machine.\n");
    keep = options.keep === true;
    if (keep) showAccess(cluster);
  } catch (error) {
    // The interrupt removed the cluster; wait for it to exit the process.
    if (isInterrupted) await new Promise(() => {});
    throw error;
  } finally {
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", interrupt);
    if (!keep) await close();
  }
}

function showAccess({ kubeconfig, record }: Cluster): void {
  process.stdout.write(`
The cluster is still running. Explore it with

  export KUBECONFIG=${kubeconfig}
  kubectl get jobsets,inplacerestarts,pods -n ${WITH}
  npx reprise status -n ${WITH}

and stop it with

  npm run cluster -- down --slot ${record.slot}
`);
}

function title(text: string): void {
  process.stdout.write(`\n${styleText(["bold", "cyan"], text)}\n\n`);
}
