// `npm run test:dashboard`: apart from the other tests, because it needs a browser of 400 MB.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    name: "dashboard",
    root: new URL("../..", import.meta.url).pathname,
    include: ["test/dashboard/**/*.test.ts"],
    globalSetup: "test/dashboard/setup.ts",
    // One browser and one cluster fill two cores.
    maxWorkers: 1,
    testTimeout: 120_000,
    hookTimeout: 300_000,
  },
});
