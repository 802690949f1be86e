import { register as globalRegistry } from "prom-client";
import { describe, expect, it } from "vitest";
import { createRegistry, latencyHistogram } from "./metrics.ts";

describe("metrics", () => {
  it("have the prefix reprise_, including those of the process", async () => {
    const series = (await createRegistry().metrics())
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"));
    expect(series.length).toBeGreaterThan(10);
    expect(series.filter((line) => !line.startsWith("reprise_"))).toEqual([]);
  });

  it("of two servers in one process are separate, and not in the global registry", async () => {
    const [one, other] = [createRegistry(), createRegistry()];
    const options = { name: "reprise_admission_duration_seconds", help: "Time to answer." } as const;
    latencyHistogram(one, options).observe(0.003);
    latencyHistogram(other, options);
    expect(await one.getSingleMetricAsString(options.name)).toContain("reprise_admission_duration_seconds_count 1");
    expect(await other.getSingleMetricAsString(options.name)).not.toContain("_count 1");
    expect(await globalRegistry.metrics()).toBe("\n");
  });

  it("distinguish 2 ms from 4 ms", async () => {
    const registry = createRegistry();
    const histogram = latencyHistogram(registry, { name: "reprise_x_seconds", help: "x", labelNames: ["step"] });
    histogram.observe({ step: "sync" }, 0.002);
    histogram.observe({ step: "sync" }, 0.004);
    const text = await registry.getSingleMetricAsString("reprise_x_seconds");
    expect(text).toContain('reprise_x_seconds_bucket{le="0.0025",step="sync"} 1');
    expect(text).toContain('reprise_x_seconds_bucket{le="0.005",step="sync"} 2');
  });
});
