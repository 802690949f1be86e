// Checks manifests/monitoring: the rules with the real promtool, and that alerts and panels use metrics that exist.
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { SUSPECT_RESTARTS } from "../../src/api/availability-figures.ts";
import { asList, asMap, asText } from "../../src/json/fields.ts";
import { createRegistry } from "../../src/telemetry/metrics.ts";
import { terminalProgress } from "../../test/cluster/progress.ts";
import { ensurePrometheus } from "../../test/cluster/prometheus.ts";
import { run } from "../../test/cluster/run.ts";
import { programMetrics } from "../docs/operations-reference.ts";
import { dashboard } from "./dashboard.ts";
import { alerts, rulesFile } from "./rules.ts";

const PAGE = "docs/monitoring.md";
const UNIT_TESTS = "scripts/monitoring/alerts.test.yaml";

let promtool: string;
let folder: string;
let metrics: ReadonlySet<string>;

beforeAll(async () => {
  ({ promtool } = await ensurePrometheus(terminalProgress()));
  folder = mkdtempSync(join(tmpdir(), "reprise-monitoring-"));
  writeFileSync(join(folder, "rules.yaml"), rulesFile());
  metrics = await metricNames();
});

afterAll(() => rmSync(folder, { recursive: true }));

/** Every metric of both programs, as Prometheus stores it. */
async function metricNames(): Promise<ReadonlySet<string>> {
  const { webhook, controller } = programMetrics(createRegistry);
  const all = [...(await webhook.getMetricsAsJSON()), ...(await controller.getMetricsAsJSON())];
  return new Set(
    all.flatMap(({ name, type }) => {
      return String(type) === "histogram" ? ["_bucket", "_sum", "_count"].map((suffix) => name + suffix) : [name];
    }),
  );
}

function unknownMetrics(expr: string): readonly string[] {
  return [...expr.matchAll(/\breprise_\w+/g)].map(([name]) => name).filter((name) => !metrics.has(name));
}

/** The queries of the dashboard, by panel. */
function queries(): readonly (readonly [panel: string, expr: string])[] {
  return asList(asMap(JSON.parse(dashboard()))["panels"])
    .map(asMap)
    .flatMap(({ title, targets }) =>
      asList(targets).map((target) => [asText(title) ?? "", asText(asMap(target)["expr"]) ?? ""] as const),
    );
}

describe("the alerts", () => {
  it("are accepted by promtool", () => {
    expect(run([promtool, "check", "rules", join(folder, "rules.yaml")])).toContain(`${alerts().length} rules found`);
  });

  it("fire when they should, according to promtool", () => {
    copyFileSync(UNIT_TESTS, join(folder, "alerts.test.yaml"));
    expect(run([promtool, "test", "rules", join(folder, "alerts.test.yaml")])).toContain("SUCCESS");
  });

  it("have a unit test each", () => {
    const tests = readFileSync(UNIT_TESTS, "utf8");
    expect(alerts().filter(({ name }) => !tests.includes(name))).toEqual([]);
  });

  it.each(alerts())("$name uses metrics that exist", ({ expr }) => {
    expect(expr).toMatch(/\breprise_/);
    expect(unknownMetrics(expr)).toEqual([]);
  });

  it.each(alerts())(
    "$name has a severity, a summary and a section of the runbook",
    ({ name, severity, annotations }) => {
      expect(severity).toMatch(/^(critical|warning|info)$/);
      expect(annotations["summary"]).toMatch(/\.$/);
      expect(annotations["runbook"]).toBe(`${PAGE}#${name.toLowerCase()}`);
      expect(readFileSync(PAGE, "utf8").split("\n")).toContain(`### ${name}`);
    },
  );

  it("name a node as soon as `reprise status` does", () => {
    const { expr } = alerts().find(({ name }) => name === "RepriseNodeCausesFailures") ?? {};
    // A node has no series before its first restart.
    expect(expr).toMatch(new RegExp(`>= ${SUSPECT_RESTARTS - 1}$`));
  });

  it("are all that the runbook has", () => {
    const sections = [...readFileSync(PAGE, "utf8").matchAll(/^### (Reprise\w+)$/gm)].map(([, name]) => name);
    expect(sections).toEqual(alerts().map(({ name }) => name));
  });
});

describe("the dashboard", () => {
  it.each(queries())("%s uses metrics that exist: %s", (_, expr) => {
    expect(expr).toMatch(/\breprise_/);
    expect(unknownMetrics(expr)).toEqual([]);
  });

  it("has queries that promtool accepts", () => {
    const rules = queries().map(([, expr], index) => {
      return { record: `panel:${index}`, expr: expr.replaceAll(/\$__(rate_interval|range)/g, "5m") };
    });
    const file = join(folder, "panels.yaml");
    writeFileSync(file, stringify({ groups: [{ name: "panels", rules }] }));
    expect(run([promtool, "check", "rules", "--lint=none", file])).toContain(`${rules.length} rules found`);
  });

  it("places no panel over another one", () => {
    const cells = asList(asMap(JSON.parse(dashboard()))["panels"]).flatMap((panel) => {
      const { x, y, w, h } = parse(JSON.stringify(asMap(panel)["gridPos"]));
      expect(x + w).toBeLessThanOrEqual(24);
      return Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`);
    });
    expect(new Set(cells).size).toBe(cells.length);
  });
});

it("docs/monitoring.md names metrics that exist", () => {
  expect(unknownMetrics(readFileSync(PAGE, "utf8"))).toEqual([]);
});

it("a metric that no program has is found", () => {
  expect(unknownMetrics("sum(reprise_controller_leaders) + reprise_controller_leader")).toEqual([
    "reprise_controller_leaders",
  ]);
  // A histogram has no series of its own name.
  expect(unknownMetrics("reprise_controller_recovery_seconds")).toEqual(["reprise_controller_recovery_seconds"]);
});
