// The order of test files: those that wait longest start first, so that no run ends with one of them alone.
import { BaseSequencer, type TestSpecification } from "vitest/node";

const FIRST = [
  "kube-quiet-watch.test.ts",
  "e2e/install.test.ts",
  "e2e/stuck-pods.test.ts",
  "e2e/promises.test.ts",
  "e2e/repeated-failures.test.ts",
  "e2e/controller-death.test.ts",
];

export default class Sequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isFirst = ({ moduleId }: TestSpecification) => FIRST.some((name) => moduleId.endsWith(name));
    return [...sorted.filter(isFirst), ...sorted.filter((file) => !isFirst(file))];
  }
}
