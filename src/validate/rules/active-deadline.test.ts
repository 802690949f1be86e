import { expect, it } from "vitest";
import { describeRule, findingsOf, jobPath, plain, podPath, SKIPPED } from "../../../test/builders/rule-examples.ts";
import { activeDeadline } from "./active-deadline.ts";

describeRule(activeDeadline, {
  accepts: ["a JobSet without a deadline", plain().build()],
  reports: [
    "the deadline of a Job",
    plain({ pods: 2, job: { activeDeadlineSeconds: 3600 } }).build(),
    `${jobPath}.activeDeadlineSeconds`,
    /the 3600 s now span all restarts in place/,
  ],
  ignores: SKIPPED,
});

it("active-deadline reports the deadline of a Pod, and many deadlines once", () => {
  const parts = { pods: 2, pod: { activeDeadlineSeconds: 60 } };
  const object = plain(parts).replicatedJob("others", parts).build();
  expect(findingsOf(activeDeadline, object)).toEqual([
    expect.objectContaining({
      path: `${podPath}.activeDeadlineSeconds`,
      message: expect.stringMatching(/\(and 1 more like it\)$/),
    }),
  ]);
});
