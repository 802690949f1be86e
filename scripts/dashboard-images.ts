// npm run dashboard-images: takes the pictures of the dashboard in docs/images, of 10,000 generated Pods in the middle
// of a restart and of a real recovery on a real cluster (which needs Linux and root). --generated takes the first only.
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import { GeneratedCluster } from "../src/dashboard/testing/generated-cluster.ts";
import { terminalProgress } from "../test/cluster/progress.ts";
import { launch } from "../test/dashboard/chromium.ts";
import { servePage } from "../test/dashboard/served-page.ts";

const IMAGES = "docs/images";
const PODS = 10_000;

const { values: options } = parseArgs({ options: { generated: { type: "boolean" } } });
await pictureOfMany();
if (options.generated !== true) pictureOfRecovery();

/** Two thirds of the Pods have reached the next epoch, in no order, as when many kubelets work side by side. */
async function pictureOfMany(): Promise<void> {
  const cluster = new GeneratedCluster({ namespace: "research", name: "llm", stages: { workers: PODS } });
  const served = await servePage(cluster);
  const browser = await launch(terminalProgress());
  try {
    const page = await browser.newPage({ viewport: { width: 1_180, height: 900 }, colorScheme: "dark" });
    await page.goto(served.url);
    await page.getByRole("button", { name: `running ${PODS}`, exact: true }).waitFor();
    cluster.fail(4_321, "NCCL error: remote process exited");
    const arrived = cluster.pods.filter(({ index }) => (index * 7_919) % 1_000 < 120 + (index / PODS) * 830);
    cluster.arrive(arrived);
    await page.getByText(`${arrived.length} of ${PODS} Pods have reached`).waitFor();
    await page.screenshot({ path: `${IMAGES}/dashboard-10000-pods.png`, fullPage: true });
  } finally {
    await browser.close();
    await served.close();
  }
}

function pictureOfRecovery(): void {
  const args = ["vitest", "run", "--config", "test/dashboard/vitest.config.ts", "recovery"];
  const env = { ...process.env, REPRISE_DASHBOARD_IMAGES: IMAGES };
  process.exitCode = spawnSync("npx", args, { stdio: "inherit", env }).status ?? 1;
}
