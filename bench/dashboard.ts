// The dashboard with 10,000 Pods in a real Chromium while all of them restart: how soon the page shows them, how long a
// frame takes, and how much memory the page and the server hold. The Pods are generated; reflectors, server and page
// are the real ones.
import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { GeneratedCluster } from "../src/dashboard/testing/generated-cluster.ts";
import { terminalProgress } from "../test/cluster/progress.ts";
import { launch } from "../test/dashboard/chromium.ts";
import { servePage } from "../test/dashboard/served-page.ts";
import { memoryOf } from "./process-memory.ts";
import { quantile } from "./quantile.ts";
import { checkGates } from "./ranges.ts";

const PODS = 10_000;
const RECOVERIES = 3;
/** As many Pods change at a time, this often: all of them within 2 s, as in the benchmark of scale. */
const WAVE = 500;
const WAVE_MS = 100;

/** Notes the time between two frames. */
const RECORD_FRAMES = `
  globalThis.frames_ = [];
  let last = performance.now();
  const note = (now) => { globalThis.frames_.push(now - last); last = now; requestAnimationFrame(note); };
  requestAnimationFrame(note);
`;

const cluster = new GeneratedCluster({ namespace: "team", name: "train", stages: { driver: 16, workers: PODS - 16 } });
const served = await servePage(cluster);
const browser = await launch(terminalProgress());
let holds = false;
try {
  // The page forbids eval, which waiting for an expression needs.
  const page = await browser.newPage({ viewport: { width: 1_280, height: 900 }, bypassCSP: true });
  await page.addInitScript(RECORD_FRAMES);
  await page.goto(served.url);
  const shown = await page.waitForFunction(
    `document.getElementById("grid").getAttribute("aria-label")?.startsWith("${PODS} Pods") && performance.now()`,
  );
  const firstPaint = await page.evaluate(
    `performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Number.NaN`,
  );
  await recover(page);
  const heapAfterOne = await heapOf(page);
  await page.evaluate("globalThis.frames_.length = 0");
  const started = performance.now();
  for (let recovery = 0; recovery < RECOVERIES; recovery += 1) await recover(page);
  const seconds = (performance.now() - started) / 1_000;
  const frames = (await page.evaluate("globalThis.frames_")) as number[];
  const figures = {
    "first contentful paint, ms": Number(firstPaint),
    "10,000 Pods drawn, ms": Number(await shown.jsonValue()),
    "frame time p50, ms": quantile(frames, 0.5),
    "frame time p95, ms": quantile(frames, 0.95),
    "frame time p99, ms": quantile(frames, 0.99),
    "longest frame, ms": Math.max(...frames),
    "frames per second": frames.length / seconds,
    "page's heap, MiB": await heapOf(page),
    "page's heap after one restart, MiB": heapAfterOne,
    "server's memory, MiB": memoryOf(process.pid).rss,
  };
  for (const [name, value] of Object.entries(figures)) console.log(`${name}: ${value.toFixed(1)}`);
  holds = checkGates("dashboard, 10,000 Pods", figures);
} finally {
  await browser.close();
  await served.close();
}
process.exitCode = holds ? 0 : 1;

/** One worker fails, all Pods reach the next epoch, the barrier lifts, and all workers start. */
async function recover(page: Page): Promise<void> {
  cluster.fail(4_321, "NCCL error: remote process exited");
  await inWaves((pods) => cluster.arrive(pods));
  cluster.lift();
  await inWaves((pods) => cluster.change(pods, { worker: "running" }));
  cluster.finish();
  await page.getByRole("button", { name: `running ${PODS}`, exact: true }).waitFor();
}

async function inWaves(act: (pods: GeneratedCluster["pods"]) => void): Promise<void> {
  for (let first = 0; first < PODS; first += WAVE) {
    act(cluster.pods.slice(first, first + WAVE));
    await sleep(WAVE_MS);
  }
}

/** After a garbage collection. */
async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  await session.send("Performance.enable");
  const { metrics } = await session.send("Performance.getMetrics");
  await session.detach();
  return (metrics.find(({ name }) => name === "JSHeapUsedSize")?.value ?? Number.NaN) / 2 ** 20;
}
