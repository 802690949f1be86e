import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatHangReport, HANG_STATES, type HangReport, HIGHEST_STEP, readHangReport } from "./hang-report.ts";

const reports: fc.Arbitrary<HangReport> = fc
  .record({
    epoch: fc.nat(),
    state: fc.constantFrom(...HANG_STATES),
    since: fc.nat(HIGHEST_STEP),
    step: fc.option(fc.nat(HIGHEST_STEP), { nil: undefined }),
    rank: fc.option(fc.nat(), { nil: undefined }),
  })
  .map(({ step, rank, ...rest }) => ({
    ...rest,
    ...(step === undefined ? {} : { step }),
    ...(step === undefined || rank === undefined ? {} : { rank }),
  }));

describe("a report about a hang", () => {
  it("is read as it was written", () => {
    fc.assert(
      fc.property(reports, (report) => {
        expect(readHangReport(formatHangReport(report))).toEqual(report);
      }),
    );
  });

  it.each([undefined, "", "4", "4/1", "4/3/5", "4/1/x", "4/1/5/", "4/1/5/6/7/8", "-4/1/5", "4/1/5 ", "٤/1/5"])(
    "is nothing if the annotation is %j",
    (text) => expect(readHangReport(text)).toBeUndefined(),
  );
});
