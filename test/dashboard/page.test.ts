// The page in a real Chromium, served by the real server from a generated cluster.
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { GeneratedCluster } from "../../src/dashboard/testing/generated-cluster.ts";
import { POD_STATES } from "../../src/dashboard/view/wire.ts";
import { terminalProgress } from "../cluster/progress.ts";
import { launch } from "./chromium.ts";
import { type ServedPage, servePage } from "./served-page.ts";

const HOSTILE = "<img src=x onerror=\"document.title='hacked'\">";

let browser: Browser;
const cleanups: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  browser = await launch(terminalProgress());
});

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

afterAll(async () => {
  await browser?.close();
});

interface Opened {
  readonly cluster: GeneratedCluster;
  readonly served: ServedPage;
  readonly page: Page;
  /** What the browser complained about. */
  readonly complaints: string[];
}

async function open(options: BrowserContextOptions = {}, stages: Record<string, number> = { driver: 1, workers: 6 }) {
  const cluster = new GeneratedCluster({ namespace: "team", name: "train", stages });
  const served = await servePage(cluster);
  cleanups.push(() => served.close());
  const context = await browser.newContext(options);
  cleanups.push(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(served.url);
  await page.getByRole("heading", { name: "team/train" }).waitFor();
  await legend(page, "running", cluster.pods.length).waitFor();
  return { cluster, served, page, complaints } satisfies Opened;
}

function legend(page: Page, words: string, count: number) {
  return page.getByRole("button", { name: `${words} ${count}`, exact: true });
}

/** A script for the page, as text: the types of the browser are not those of the tests. */
async function inPage<T>(page: Page, script: string): Promise<T> {
  return (await page.evaluate(script)) as T;
}

/** How often each color is in the grid; transparent pixels do not count. */
async function colorsOf(page: Page): Promise<Record<string, number>> {
  return await inPage(
    page,
    `(() => {
      const canvas = document.getElementById("grid");
      const { data } = canvas.getContext("2d").getImageData(0, 22, canvas.width, canvas.height - 22);
      const counts = {};
      for (let at = 0; at < data.length; at += 4) {
        if (data[at + 3] !== 255) continue;
        const key = data.slice(at, at + 3).join();
        counts[key] = (counts[key] ?? 0) + 1;
      }
      return counts;
    })()`,
  );
}

describe("a visitor", () => {
  test("sees the group, its Pods and that it runs, without a complaint of the browser", async () => {
    const { page, complaints } = await open();
    const row = page.getByRole("row", { name: /team\/train/ });
    expect(await row.getByRole("cell").allInnerTexts()).toEqual([
      "team/train",
      "● Running",
      "7/7",
      "1",
      "0 of 100",
      expect.stringMatching(/^99\.8\d %$/),
      "–",
      "",
    ]);
    expect(await page.locator("#grid").getAttribute("aria-label")).toBe("7 Pods: 7 running");
    expect(await page.title()).toBe("team/train – reprise");
    expect(await page.getByRole("status").first().innerText()).toBe("Live");
    expect(Object.keys(await colorsOf(page))).toContain("0,158,115");
    expect(complaints).toEqual([]);
  });

  test("sees a recovery as it happens, and the history with its cause after it", async () => {
    const { cluster, page, complaints } = await open();
    cluster.fail(3, "CUDA error: device lost");
    await page.getByText("Epoch 1 has ended, and epoch 2 is about to run").waitFor();
    await page.getByText("waiting for every Pod to reach epoch 2").first().waitFor();
    await legend(page, "failed", 1).waitFor();
    await legend(page, "restarting", 6).waitFor();
    expect(await page.locator(".steps .open").innerText()).toMatch(/^Pods restart: \d.* so far$/);

    // The bar is as wide as its place, however short the recovery is so far.
    const widths = `(() => {
      const bar = document.querySelector("#recovery .bar");
      const right = bar.lastChild.getBoundingClientRect().right;
      return [bar.clientWidth, Math.round(right - bar.getBoundingClientRect().left)];
    })()`;
    const [place, filled] = await inPage<number[]>(page, widths);
    expect(filled).toBe(place);

    cluster.arrive(cluster.pods.slice(0, 5));
    await page.getByText("5 of 7 Pods have reached epoch 2").waitFor();
    await legend(page, "at the barrier", 5).waitFor();
    const late = page.getByText("Pods that are not at the barrier yet: ");
    expect(await late.innerText()).toMatch(/: train-workers-0-4-x7k2p \(restarting\), train-workers-0-5-x7k2p/);

    cluster.arrive(cluster.pods.slice(5));
    cluster.lift();
    await legend(page, "starting", 7).waitFor();
    cluster.change(cluster.pods, { worker: "running" });
    cluster.finish();
    await legend(page, "running", 7).waitFor();
    await page.getByText(/^Epoch 1 to 2 in \d/).waitFor();
    const cells = await page.locator("#history tbody tr").first().getByRole("cell").allInnerTexts();
    expect(cells[0]).toBe("1 → 2");
    expect(cells[3]).toBe("yes");
    expect(cells[4]).toContain("Pod train-workers-0-2-x7k2p: container worker exited with code 1");
    expect(cells[4]).toContain("RestartInPlace, by the rule end-epoch");
    expect(cells[4]).toContain("CUDA error: device lost");
    expect(await page.locator("#waiting").innerText()).toBe("");
    expect(complaints).toEqual([]);
  });

  test("sees what a group has spent its time on, how often it fails, and the node to suspect", async () => {
    const { cluster, page } = await open({}, { workers: 12 });
    const availability = page.locator("#availability");
    await availability.getByText(/^running: 1 h 0 min$/).waitFor();
    expect(await availability.innerText()).not.toContain("MTBF");
    for (let restart = 1; restart <= 3; restart += 1) {
      // A worker of the second node.
      cluster.fail(9, "CUDA error");
      cluster.arrive(cluster.pods);
      cluster.lift();
      cluster.change(cluster.pods, { worker: "running" });
      cluster.finish();
      await availability.getByText(`ContainerExited: ${restart}`).waitFor();
      if (restart < 3) expect(await page.locator("#suspects").isVisible()).toBe(false);
    }
    const terms = await availability.locator("dt").allInnerTexts();
    const values = await availability.locator("dd").allInnerTexts();
    expect(Object.fromEntries(terms.map((term, index) => [term, values[index]]))).toEqual({
      Available: expect.stringMatching(/^99\.8\d %$/),
      "Restarts so far": "3",
      MTBF: expect.stringMatching(/^20 min [01] s$/),
      MTTR: expect.stringMatching(/^\d\.\d s$/),
      "By cause": "ContainerExited: 3",
      "By blamed Pod": "train-workers-0-9-x7k2p: 3",
      "By node": "node-1: 3",
    });
    const suspect = "Node node-1 causes failures again and again: it was blamed for 3 restarts.";
    expect(await page.locator("#suspects").innerText()).toBe(suspect);
    expect(await availability.locator(".wait").innerText()).toBe(suspect);
  });

  test("sees text of the cluster as text, whatever it looks like", async () => {
    const { cluster, page, complaints } = await open();
    cluster.fail(0, HOSTILE);
    await page.getByText(HOSTILE).waitFor();
    expect(await page.locator("img").count()).toBe(0);
    expect(await page.title()).toBe("team/train – reprise");
    expect(complaints).toEqual([]);
  });

  test("is protected from scripts in the page: the browser refuses HTML from text", async () => {
    const { page } = await open();
    const attempt = inPage(page, `document.body.innerHTML = "<p>x</p>"`);
    await expect(attempt).rejects.toThrow(/TrustedHTML/);
    const inline = `(() => {
      const script = document.createElement("script");
      try { script.textContent = "document.title = 'hacked'"; document.body.append(script); } catch {}
      return document.title;
    })()`;
    expect(await inPage(page, inline)).toBe("team/train – reprise");
  });

  test("can open the page only under a name of this machine", async () => {
    const { served } = await open();
    const other = await launch(terminalProgress(), ["--host-resolver-rules=MAP evil.example 127.0.0.1"]);
    cleanups.push(() => other.close());
    const page = await other.newPage();
    const response = await page.goto(`http://evil.example:${served.port}/`);
    expect(response?.status()).toBe(403);
    expect(await page.locator("body").innerText()).toContain("not served as");
  });

  test("is told when the server is gone, and sees the new state when it is back", async () => {
    const { cluster, served, page } = await open();
    await served.close();
    await page.getByText("What is shown may be old").waitFor();
    cluster.pods.forEach((pod) => {
      pod.epoch = 5;
    });
    const again = await servePage(cluster, served.port);
    cleanups.push(() => again.close());
    await page.getByText("Live", { exact: true }).waitFor();
    await legend(page, "at the barrier", 7).waitFor();
  });

  test("gives the connection back while the page is not visible, and sees the new state after that", async () => {
    const { cluster, served, page } = await open();
    const become = (state: string) =>
      inPage(
        page,
        `Object.defineProperty(document, "visibilityState", { value: "${state}", configurable: true });
         document.dispatchEvent(new Event("visibilitychange"))`,
      );
    await become("hidden");
    await page.getByText("Paused while the page is not visible").waitFor();
    await expect.poll(() => served.stream.clients).toBe(0);
    cluster.change(cluster.pods, { epoch: 5 });
    await become("visible");
    await legend(page, "at the barrier", 7).waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
  });

  test("filters the list of groups", async () => {
    const { page } = await open();
    await page.getByLabel("Filter").fill("nothing like it");
    await page.getByText("No group matches the filter.").waitFor();
    await page.getByLabel("Filter").fill("TRAIN");
    await page.getByRole("link", { name: "team/train" }).waitFor();
  });
});

describe("without a pointer", () => {
  test("every Pod can be reached by keys, and is described", async () => {
    const { page } = await open();
    await page.locator("#pods").focus();
    await page.keyboard.press("ArrowRight");
    const described = page.locator("#pod");
    expect(await described.innerText()).toBe(
      "Pod train-driver-0-0-x7k2p (driver, Job 0, index 0): running, epoch 1, 0 restarts, on node node-0",
    );
    await page.keyboard.press("ArrowRight");
    expect(await described.innerText()).toContain("train-workers-0-0-x7k2p");
    await page.keyboard.press("End");
    expect(await described.innerText()).toContain("train-workers-0-5-x7k2p");
  });

  test("a button of the legend leads to the next Pod in that state", async () => {
    const { cluster, page } = await open();
    cluster.fail(4, "");
    await legend(page, "failed", 1).focus();
    await page.keyboard.press("Enter");
    expect(await page.locator("#pod").innerText()).toMatch(/^Pod train-workers-0-3-x7k2p .*: failed/);
  });

  test("the keyboard reaches the filter, the group, the legend and the grid in this order", async () => {
    const { page } = await open();
    const reached: string[] = [];
    for (let press = 0; press < 30 && reached.at(-1) !== "pods"; press += 1) {
      await page.keyboard.press("Tab");
      reached.push(await inPage(page, "document.activeElement.id || document.activeElement.textContent"));
    }
    const order = ["Skip to the selected group", "filter", "team/train", "running 7", "pods"];
    expect(reached.filter((each) => order.includes(each))).toEqual(order);
  });
});

test("with a pointer, a click on a cell selects its Pod", async () => {
  const { page } = await open();
  await page.locator("#grid").click({ position: { x: 5, y: 30 } });
  expect(await page.locator("#pod").innerText()).toMatch(/^Pod train-driver-0-0-x7k2p/);
});

describe("for all eyes", () => {
  test("every state has a shape of its own, whatever its color", async () => {
    const { page } = await open();
    const shapes = await inPage<string[]>(
      page,
      `[...document.querySelectorAll("#legend canvas")].map((canvas) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return data.filter((_, at) => at % 4 === 3).map((alpha) => (alpha > 127 ? 1 : 0)).join("");
      })`,
    );
    expect(new Set(shapes).size).toBe(POD_STATES.length);
  });

  test("Pods are colored by epoch on request, and two epochs differ", async () => {
    const { cluster, page } = await open();
    cluster.change(cluster.pods.slice(0, 3), { epoch: 2 });
    await legend(page, "at the barrier", 3).waitFor();
    await page.getByLabel("epoch", { exact: true }).check();
    await expect
      .poll(async () => Object.keys(await colorsOf(page)))
      .toEqual(expect.arrayContaining(["230,159,0", "0,158,115"]));
  });

  test.each(["light", "dark"] as const)("text is readable in %s colors", async (colorScheme) => {
    const { cluster, page } = await open({ colorScheme });
    cluster.fail(0, "last words");
    await page.getByText("last words").waitFor();
    const weak = await inPage<string[]>(
      page,
      `(() => {
        const rgb = (text) => text.match(/[0-9.]+/g).map(Number);
        const luminance = ([r, g, b]) => {
          const [x, y, z] = [r, g, b].map((c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
          return 0.2126 * x + 0.7152 * y + 0.0722 * z;
        };
        const background = (node) => {
          for (; node; node = node.parentElement) {
            const color = rgb(getComputedStyle(node).backgroundColor);
            if (color[3] !== 0) return color;
          }
          return [255, 255, 255];
        };
        return [...document.querySelectorAll("body *")].flatMap((node) => {
          const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim() !== "");
          if (!own || !node.checkVisibility() || node.matches(":disabled, script, noscript")) return [];
          const [a, b] = [rgb(getComputedStyle(node).color), background(node)].map(luminance).sort((x, y) => y - x);
          const contrast = (a + 0.05) / (b + 0.05);
          return contrast < 4.5 ? [node.textContent.trim() + " " + contrast.toFixed(2)] : [];
        });
      })()`,
    );
    expect(weak).toEqual([]);
    const dark = await inPage<string>(page, "getComputedStyle(document.body).backgroundColor");
    expect(dark).toBe(colorScheme === "dark" ? "rgb(13, 17, 23)" : "rgb(255, 255, 255)");
  });

  test("a narrow screen shows everything without scrolling sideways", async () => {
    const { cluster, page } = await open({ viewport: { width: 340, height: 700 } }, { workers: 2_000 });
    cluster.fail(0, "a long message ".repeat(20));
    await page.getByText("a long message").first().waitFor();
    expect(await inPage(page, "document.documentElement.scrollWidth")).toBeLessThanOrEqual(340);
    const [label] = await page.locator("#groups tbody td").all();
    expect(await label?.getAttribute("data-label")).toBe("Group");
  });
});
