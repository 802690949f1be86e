import { defineConfig } from "vitest/config";

import Sequencer from "./test/sequencer.ts";

// One project after the other: clusters that start beside timed tests would slow them, and the other way round.
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
          include: ["{src,agent,controller,scripts}/**/*.test.ts", "test/cluster/**/*.test.ts"],
          // Run by agent/under-bun.test.ts.
          exclude: ["agent/**/*.bun.test.ts"],
          // Seconds at most on an idle machine; clusters that start beside them can slow them tenfold.
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: "integration",
          sequence: { groupOrder: 1 },
          // They mostly wait for real processes, so more workers than cores keep the run short.
          maxWorkers: 5,
          include: ["test/integration/**/*.test.ts"],
          globalSetup: "test/integration/setup.ts",
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: "e2e",
          sequence: { groupOrder: 2 },
          include: ["test/e2e/**/*.test.ts"],
          globalSetup: "test/e2e/setup.ts",
          // One cluster at a time: two would share the cores and disturb each other's timing.
          fileParallelism: false,
          testTimeout: 180_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
