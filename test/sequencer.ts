// The order of test files. The one that waits for two minutes, whatever the machine, starts first, so that nothing waits for it.
import { BaseSequencer, type TestSpecification } from "vitest/node";

const FIRST = "kube-quiet-watch.test.ts";

export default class Sequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isFirst = ({ moduleId }: TestSpecification) => moduleId.endsWith(FIRST);
    return [...sorted.filter(isFirst), ...sorted.filter((file) => !isFirst(file))];
  }
}
