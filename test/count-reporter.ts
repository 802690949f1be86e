// Ends a run with the line `N passed, N failed, N skipped`, which CI reads.
import { mkdirSync, writeFileSync } from "node:fs";
import type { Reporter, TestModule } from "vitest/node";

export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const count = { passed: 0, failed: 0, skipped: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === "passed") count.passed++;
        else if (state === "skipped") count.skipped++;
        else count.failed++;
      }
      // A file that fails before its first test (a broken import, a failed hook) is a failure too.
      if (module.errors().length > 0) count.failed++;
    }
    count.failed += unhandledErrors.length;
    mkdirSync("test-results", { recursive: true });
    const line = `${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`;
    writeFileSync("test-results/count.txt", `${line}\n`);
    process.stdout.write(`\n${line}\n`);
  }
}
