// A real recovery on real kubelets, watched in a real browser: from the bundled command with the rights of the
// manifests, and from the Deployment in the cluster.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { createInterface } from "node:readline";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { eventsOf, nextEvent } from "../../src/dashboard/testing/event-reader.ts";
import { ensureBinaries } from "../cluster/binaries.ts";
import { childRunner } from "../cluster/processes.ts";
import { terminalProgress } from "../cluster/progress.ts";
import { type GroupState, kill, podAt, TrainingGroup, uids } from "../e2e/group.ts";
import { loadReprise } from "../e2e/install-manifests.ts";
import { type Installation, install } from "../e2e/reprise.ts";
import { imageName } from "../image/reprise-image.ts";
import { accountKubeconfig } from "../reprise-programs.ts";
import { launch } from "./chromium.ts";

const MANIFESTS = "manifests/dashboard";
const TAG = "dashboard-test";
const PODS = 6;
/** scripts/dashboard-images.ts sets it to keep what the browser shows. */
const IMAGES = process.env["REPRISE_DASHBOARD_IMAGES"];

const NOTE_CHANGES = `
  globalThis.seen = [];
  const note = () => {
    for (const id of ["groups", "legend", "recovery"]) globalThis.seen.push(document.getElementById(id).innerText);
  };
  new MutationObserver(note).observe(document.body, { subtree: true, childList: true, characterData: true });
`;

let installation: Installation;
let browser: Browser;
let group: TrainingGroup;
let first: GroupState;
const folder = mkdtempSync(join(tmpdir(), "reprise-dashboard-"));
const children: ChildProcess[] = [];

beforeAll(async () => {
  installation = await install();
  await applyDashboard();
  group = await TrainingGroup.start(installation, "train", { stages: { driver: 1, workers: PODS - 1 } });
  browser = await launch(terminalProgress());
  first = await group.running();
});

afterAll(async () => {
  for (const child of children) child.kill("SIGTERM");
  await browser?.close();
  await installation?.end();
  rmSync(folder, { recursive: true });
});

/** manifests/dashboard with the image of this checkout. */
async function applyDashboard(): Promise<void> {
  const [newName = ""] = imageName(TAG).split(`:${TAG}`);
  const kustomization = {
    ...parse(readFileSync(join(MANIFESTS, "kustomization.yaml"), "utf8")),
    resources: [relative(folder, join(process.cwd(), MANIFESTS))],
    images: [{ name: "reprise", newName, newTag: TAG }],
  };
  writeFileSync(join(folder, "kustomization.yaml"), stringify(kustomization));
  await installation.kubectl(["apply", "--server-side", "-k", folder]);
}

/** Starts a program that serves until it is ended, and returns the first line that it prints. */
async function startProgram(command: string, args: readonly string[]): Promise<string> {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  const [line] = await once(createInterface(child.stdout), "line");
  return String(line);
}

async function startCommand(): Promise<string> {
  const { reprise, kubectl } = installation;
  const home = { folder, runner: childRunner(folder), address: "127.0.0.1" };
  const access = { kubectl, server: reprise.apiServer };
  const kubeconfig = await accountKubeconfig(home, "reprise-dashboard", access);
  const bundle = join(reprise.logFolder, "reprise.js");
  const line = await startProgram(process.execPath, [
    bundle,
    "dashboard",
    "-A",
    "--port=0",
    `--kubeconfig=${kubeconfig}`,
  ]);
  return /http:\S+/.exec(line)?.[0] ?? "";
}

async function picture(page: Page, name: string): Promise<void> {
  if (IMAGES !== undefined) await page.screenshot({ path: join(IMAGES, name), fullPage: true });
}

test("the page shows a real recovery as it happens: a worker is killed, and all Pods restart in place", async () => {
  const page = await browser.newPage({ viewport: { width: 1_180, height: 820 } });
  page.setDefaultTimeout(60_000);
  await page.goto(await startCommand());
  const row = page.getByRole("row", { name: /training\/train/ });
  await page.getByRole("button", { name: `running ${PODS}`, exact: true }).waitFor();
  expect(await row.innerText()).toContain("● Running");

  // A recovery takes seconds, so what the page shows is noted whenever it changes.
  await page.evaluate(NOTE_CHANGES);
  const [before, after] = [first.syncedEpoch, first.syncedEpoch + 1];
  kill(podAt(first, 2).worker);
  await page.getByText("is about to run").waitFor();
  await picture(page, "dashboard-recovery.png");

  const second = await group.restarted(after);
  await page.getByText(new RegExp(`^Epoch ${before} to ${after} in \\d`)).waitFor();
  await page.getByRole("button", { name: `running ${PODS}`, exact: true }).waitFor();
  await row.getByText("● Running").waitFor();
  expect(uids(second)).toEqual(uids(first));
  const seen = String(await page.evaluate("globalThis.seen.join()"));
  expect(seen).toContain("↻ Restarting");
  expect(seen).toContain(`Epoch ${before} has ended, and epoch ${after} is about to run`);
  expect(seen).toMatch(/at the barrier\s+[1-9]/);
  expect(seen).toMatch(new RegExp(`[1-9] of ${PODS} Pods have reached epoch ${after}`));

  const cells = await page.locator("#history tbody tr").first().getByRole("cell").allInnerTexts();
  expect(cells[0]).toBe(`${before} → ${after}`);
  expect(cells[4]).toContain(`Pod ${podAt(first, 2).name}: `);
  await page.locator("#pods").focus();
  await page.keyboard.press("End");
  const last = podAt(second, PODS - 1);
  expect(await page.locator("#pod").innerText()).toMatch(
    new RegExp(`^Pod ${last.name} .*epoch ${after}, 1 restart, .*${last.node}$`),
  );
  await page.close();
});

test("the Deployment serves the same behind kubectl port-forward, with the rights of its role", async () => {
  const { cluster, kubectl } = installation;
  await loadReprise(cluster, imageName(TAG));
  await kubectl([
    "delete",
    "pod",
    "-n",
    "reprise-system",
    "-l",
    "app.kubernetes.io/component=dashboard",
    "--wait=false",
  ]);
  await kubectl(["rollout", "status", "deployment/reprise-dashboard", "-n", "reprise-system", "--timeout=120s"]);
  const path = await ensureBinaries(["kubernetes"], terminalProgress());
  const forward = ["port-forward", "-n", "reprise-system", "service/reprise-dashboard", ":80"];
  const line = await startProgram(path("kubernetes", "kubectl"), ["--kubeconfig", cluster.kubeconfig, ...forward]);
  const port = /127\.0\.0\.1:(\d+)/.exec(line)?.[1];
  const ending = new AbortController();
  const events = eventsOf(`http://127.0.0.1:${port}/events?group=training/train`, ending.signal);
  const { changed } = await nextEvent(events, "groups", ({ missing }) => missing.length === 0);
  expect(changed).toMatchObject([
    { key: "training/train", phase: "Running", epoch: first.syncedEpoch + 1, restarts: 1 },
  ]);
  expect((await nextEvent(events, "pods")).added).toHaveLength(PODS);
  ending.abort();
});
