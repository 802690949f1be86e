// npm run demo: what reprise does, first at once and without a cluster, then on a real Kubernetes on this machine.
// Options after `--`: --quick stops after the instant part, --keep leaves the cluster up to look around.
import { parseArgs, styleText } from "node:util";
import { Cluster, down, freeSlot } from "../test/cluster/cluster.ts";
import { checkGo, checkLinux, checkRoot, PrerequisiteError, thisMachine } from "../test/cluster/prerequisites.ts";
import { terminalProgress } from "../test/cluster/progress.ts";
import { startReprise } from "../test/e2e/reprise.ts";
import { showInjection } from "./demo/instant.ts";
import { createNamespaces, recover, showSteps } from "./demo/recovery.ts";
import { showTimeline } from "./demo/timeline.ts";

const EXAMPLE = "examples/train.yaml";
/** Away from slot 0, where a developer's own cluster is. */
const FIRST_SLOT = 8;

const { values: options } = parseArgs({ options: { quick: { type: "boolean" }, keep: { type: "boolean" } } });

title("1. A plain JobSet meets the webhook");
await showInjection(EXAMPLE);
title("2. A failure, played through");
showTimeline();
if (options.quick !== true) {
  const lack = lackOfThisMachine();
  if (lack === undefined) await showRecovery();
  else process.stdout.write(`\nThe demo ends here, without a real cluster. ${lack}\n`);
}

function lackOfThisMachine(): string | undefined {
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
  const interrupt = () => {
    process.stderr.write("\nending the cluster ...\n");
    void close().then(() => process.exit(130));
  };
  process.once("SIGINT", interrupt);
  process.once("SIGTERM", interrupt);
  try {
    const progress = terminalProgress();
    const cluster = await Cluster.up({ slot, nodes: 2, parts: ["jobset"], upstreamInPlace: false, progress });
    const step = progress.step("installing reprise");
    const reprise = await startReprise(cluster);
    step.done();
    await createNamespaces(cluster);
    title("4. The same JobSet, the same failure, with and without reprise");
    const inPlace = await recover(cluster, "with-reprise", EXAMPLE);
    process.stdout.write(
      `  recovered in ${inPlace.seconds.toFixed(1)} s, ${inPlace.newPods} of ${inPlace.pods} Pods are new\n`,
    );
    await showSteps(cluster, "with-reprise");
    const recreated = await recover(cluster, "without-reprise", EXAMPLE);
    process.stdout.write(
      `  recovered in ${recreated.seconds.toFixed(1)} s, ${recreated.newPods} of ${recreated.pods} Pods are new\n`,
    );
    const ratio = (recreated.seconds / inPlace.seconds).toFixed(1);
    process.stdout.write(
      `\n${styleText("bold", `With reprise ${ratio} times as fast`)}, on two nodes that share this machine.\n`,
    );
    if (options.keep === true) await lookAround(cluster);
    await reprise.stop();
  } finally {
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", interrupt);
    await close();
  }
}

/** Webhook and controller are processes of the demo, so it stays until the user has seen enough. */
async function lookAround(cluster: Cluster): Promise<void> {
  process.stdout.write(`
The cluster is up until you press Ctrl-C. In another terminal:

  export KUBECONFIG=${cluster.kubeconfig}
  kubectl get jobsets,inplacerestarts,pods -n with-reprise
`);
  await new Promise(() => {});
}

function title(text: string): void {
  process.stdout.write(`\n${styleText(["bold", "cyan"], text)}\n\n`);
}
