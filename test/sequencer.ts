// The order of test files: those that took longest in the last run start first, so that no run ends with one of them
// alone. vitest has recorded how long they took, but not on a machine that never ran them.
import { BaseSequencer, type TestSpecification } from "vitest/node";

const LONGEST = [
  "kube-quiet-watch.test.ts",
  "e2e/install.test.ts",
  "e2e/repeated-failures.test.ts",
  "e2e/controller-death.test.ts",
  "e2e/disruption.test.ts",
  "e2e/stuck-pods.test.ts",
  "e2e/barrier.test.ts",
];

export default class Sequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    if (files.some((file) => this.ctx.cache.getTestSpecificationResult(file) !== undefined)) return sorted;
    const isLong = ({ moduleId }: TestSpecification) => LONGEST.some((name) => moduleId.endsWith(name));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
