// `npm run test:ecosystem`: reprise beside the products that its users run. Apart from the other tests, because
// building these products takes long.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    name: "ecosystem",
    root: new URL("../..", import.meta.url).pathname,
    include: ["test/ecosystem/**/*.test.ts"],
    globalSetup: "test/ecosystem/setup.ts",
    // Each file builds products and has its own cluster.
    maxWorkers: 1,
    testTimeout: 300_000,
    // The first run builds a product from its Go modules.
    hookTimeout: 3_600_000,
  },
});
