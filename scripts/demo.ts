// npm run demo: shows what reprise does, first without a cluster, then on a real Kubernetes on this machine. Options
// after `--`: --quick stops after the first part, --keep leaves the cluster running, with the dashboard.
import { parseArgs, styleText } from "node:util";
import { connect } from "../src/kube/client.ts";
import { terminationSignal } from "../src/process/signals.ts";
import { Cluster, down, freeSlot } from "../test/cluster/cluster.ts";
import { checkGo, checkLinux, checkRoot, PrerequisiteError, thisMachine } from "../test/cluster/prerequisites.ts";
import { terminalProgress } from "../test/cluster/progress.ts";
import { servePage } from "../test/dashboard/served-page.ts";
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

process.stdout.write(opening());
title("1. A plain JobSet meets the webhook");
await showInjection(EXAMPLE);
title("2. A simulated failure");
showTimeline();
if (options.quick !== true) {
  const missing = missingPrerequisite();
  if (missing === undefined) await showRecovery();
  else process.stdout.write(`\nThe demo ends here, without a real cluster. ${missing}\n`);
}

/** What the viewer sees in the next ten seconds, and whether it is worth waiting for the rest. */
function opening(): string {
  const first = [
    "reprise restarts training jobs in place: one worker fails, and the same Pods are back in seconds.",
    "",
    "In the next ten seconds, without a cluster:",
    "  1. A plain JobSet meets the webhook: what it adds, and nothing else",
    "  2. A worker fails: who does what until all of them run again, in virtual time",
  ];
  const second = [
    "Then, in about two minutes, on a real Kubernetes on this machine (the first time, ten to build it):",
    "  3. A cluster with two nodes, and reprise installed with kubectl apply -k",
    "  4. The same failure with and without reprise, live, one row for each worker",
    ...(options.keep === true ? ["  5. The dashboard, while the cluster is up"] : []),
  ];
  const [headline = "", ...lines] = options.quick === true ? first : [...first, ...second];
  return `\n${styleText("bold", headline)}\n${lines.map((line) => `${line}\n`).join("")}`;
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
    if (keep) {
      process.off("SIGINT", interrupt);
      process.off("SIGTERM", interrupt);
      await showDashboard(cluster);
    }
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

/** Until Ctrl-C. The cluster stays. */
async function showDashboard({ kubeconfig, record }: Cluster): Promise<void> {
  title("5. The cluster is still running");
  const terminated = terminationSignal();
  const client = connect({ kubeconfig });
  const page = await servePage(client);
  process.stdout.write(`Open the dashboard: ${styleText("bold", `${page.url}#${WITH}/train`)}

Look around in another terminal, and watch the page while you do:

  eval "$(npm run --silent cluster -- env --slot ${record.slot})"
  npx reprise status train -n ${WITH} -w
  npx reprise restart train -n ${WITH} --reason "to see it"

Ctrl-C ends the dashboard. This stops the cluster:

  npm run cluster -- down --slot ${record.slot}
`);
  await terminated;
  await page.close();
  await client.close();
}

function title(text: string): void {
  process.stdout.write(`\n${styleText(["bold", "cyan"], text)}\n\n`);
}
