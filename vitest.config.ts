import { defineConfig } from "vitest/config";

import Sequencer from "./test/sequencer.ts";

/** They compare the whole machine before and after a cluster, or need kubelets that are not busy. */
const ALONE = ["cluster", "failure-policy", "user-rules"].map((name) => `test/e2e/${name}.test.ts`);

const e2e = {
  globalSetup: "test/e2e/setup.ts",
  testTimeout: 180_000,
  hookTimeout: 300_000,
} as const;

// One project after the other: a cluster that starts beside a timed test would slow it down.
export default defineConfig({
  test: {
    reporters: ["default", "./test/count-reporter.ts"],
    sequence: { sequencer: Sequencer },
    projects: [
      {
        test: {
          name: "unit",
          sequence: { groupOrder: 0 },
          maxWorkers: 4,
          include: ["{src,agent,bench,controller,scripts}/**/*.test.ts", "test/cluster/**/*.test.ts"],
          // agent/under-bun.test.ts runs these.
          exclude: ["agent/**/*.bun.test.ts"],
          // Seconds on an idle machine, but a busy one can be ten times slower.
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: "integration",
          sequence: { groupOrder: 1 },
          // These tests mostly wait for real processes, so more workers than cores keep the run short.
          maxWorkers: 5,
          include: ["test/integration/**/*.test.ts"],
          globalSetup: "test/integration/setup.ts",
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          ...e2e,
          name: "e2e",
          sequence: { groupOrder: 2 },
          // Each file has its own cluster and mostly waits for Kubernetes. Two clusters fill two cores.
          maxWorkers: 2,
          include: ["test/e2e/**/*.test.ts"],
          exclude: ALONE,
        },
      },
      {
        test: { ...e2e, name: "e2e-alone", sequence: { groupOrder: 3 }, maxWorkers: 1, include: ALONE },
      },
    ],
  },
});
