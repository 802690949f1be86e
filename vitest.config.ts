import { defineConfig } from "vitest/config";

import { cacheFolder } from "./test/cluster/binaries.ts";
import Sequencer from "./test/sequencer.ts";

/** It compares the whole machine before and after a cluster, so no other cluster or control plane may run. */
const WHOLE_MACHINE = ["test/e2e/cluster.test.ts"];

/** They measure seconds, or need the report of each exit, which a busy kubelet overwrites before it has sent it. */
const TIMED = ["failure-policy", "hangs", "user-rules"].map((name) => `test/e2e/${name}.test.ts`);

const e2e = {
  globalSetup: "test/e2e/setup.ts",
  testTimeout: 180_000,
  hookTimeout: 300_000,
  // Tests that run together wait for their own groups.
  maxConcurrency: 12,
} as const;

/** For tests that take CPU. */
const UNIT_WORKERS = 4;

// One group of projects after the other: a cluster that starts beside a timed test would slow it down.
export default defineConfig({
  // Survives `npm ci`. The order of files comes from the durations that vitest records there.
  cacheDir: cacheFolder(),
  test: {
    reporters: ["default", "./test/count-reporter.ts"],
    sequence: { sequencer: Sequencer },
    projects: [
      {
        test: {
          name: "unit",
          sequence: { groupOrder: 0 },
          maxWorkers: UNIT_WORKERS,
          include: ["{src,agent,bench,controller,scripts}/**/*.test.ts", "test/cluster/**/*.test.ts"],
          // agent/under-bun.test.ts runs these.
          exclude: ["agent/**/*.bun.test.ts"],
          // Seconds on an idle machine, but a busy one can be ten times slower.
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        // Beside the unit tests, because it mostly waits. Projects of one group must have the same number of workers.
        test: {
          ...e2e,
          name: "e2e-cluster",
          sequence: { groupOrder: 0 },
          maxWorkers: UNIT_WORKERS,
          include: WHOLE_MACHINE,
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
          // Each file has its own cluster and mostly waits for Kubernetes. Three clusters fill two cores.
          maxWorkers: 3,
          include: ["test/e2e/**/*.test.ts"],
          exclude: [...WHOLE_MACHINE, ...TIMED],
        },
      },
      {
        test: { ...e2e, name: "e2e-timed", sequence: { groupOrder: 3 }, maxWorkers: 1, include: TIMED },
      },
    ],
  },
});
