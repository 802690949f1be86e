import { defineConfig } from "vitest/config";

// Integration and e2e tests mostly wait for real processes, so more workers than cores keep the whole run short.
export default defineConfig({
  test: {
    maxWorkers: 6,
    reporters: ["default", "./test/count-reporter.ts"],
    projects: [
      {
        test: {
          name: "unit",
          include: ["{src,agent,controller,scripts}/**/*.test.ts", "test/cluster/**/*.test.ts"],
          // Seconds at most on an idle machine; clusters that start beside them can slow them tenfold.
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: "integration",
          include: ["test/integration/**/*.test.ts"],
          globalSetup: "test/integration/setup.ts",
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: "e2e",
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
