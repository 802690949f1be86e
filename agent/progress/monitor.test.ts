// When the monitor looks and reports: looks, answers and clock are scripted, because their order matters.
import { describe, expect, it } from "vitest";
import { formatHangReport, type HangReport } from "../../src/api/hang-report.ts";
import { RequestError } from "../api/request-error.ts";
import type { Sighting } from "./decide-progress.ts";
import { ProgressMonitor } from "./monitor.ts";

const LIMITS = { hangAfter: 3_000 };
const seen = (mark: string): Sighting => ({ kind: "seen", mark });

/** One look per second. `look` and `answer` get the second. */
class Script {
  readonly reports: string[] = [];
  readonly logged: string[] = [];
  looks = 0;
  #now = 0;
  readonly #seconds: number;
  readonly #end = Promise.withResolvers<void>();

  constructor(seconds: number) {
    this.#seconds = seconds;
  }

  async play(
    look: (second: number) => Sighting | Promise<Sighting>,
    answer: (second: number) => Promise<void> = async () => {},
  ): Promise<this> {
    const log = (message: string, fields: object = {}) => {
      this.logged.push("reason" in fields ? `${message}: ${fields.reason}` : message);
    };
    const effects = {
      look: async () => {
        this.looks += 1;
        return await look(this.#now / 1_000);
      },
      report: async (report: HangReport | undefined) => {
        this.reports.push(`${this.#now / 1_000}: ${report === undefined ? "none" : formatHangReport(report)}`);
        await answer(this.#now / 1_000);
      },
      sleep: async (ms: number) => {
        // What the last look leads to.
        await new Promise(setImmediate);
        this.#now += ms;
        if (this.#now / 1_000 <= this.#seconds) return;
        this.#end.resolve();
        await new Promise(() => {});
      },
      now: () => this.#now,
      wallClock: () => 50_000 + this.#now,
      random: () => 1,
    };
    const options = { limits: LIMITS, periodMs: 1_000, groupSize: 1, what: "the file" };
    const monitor = new ProgressMonitor(effects, options, { info: log, warn: log });
    void monitor.watch(4);
    await this.#end.promise;
    return this;
  }
}

describe("the monitor", () => {
  it("reports nothing while the worker moves", async () => {
    const { reports, looks } = await new Script(100).play((second) => seen(String(second)));
    expect([reports, looks]).toEqual([[], 100]);
  });

  it("reports once that the worker has stopped, and once that it moves again", async () => {
    const { reports } = await new Script(20).play((second) => seen(second < 2 || second > 10 ? String(second) : "2"));
    expect(reports).toEqual(["5: 4/1/52000", "11: none"]);
  });

  it("repeats a report that was refused, and not one that is out of date", async () => {
    const refuse = async (second: number) => {
      if (second < 7) throw new RequestError("503 away", { status: 503 });
    };
    const stuck = await new Script(20).play((second) => seen(second < 2 ? String(second) : "2"), refuse);
    expect(new Set(stuck.reports.map((report) => report.split(" ")[1]))).toEqual(new Set(["4/1/52000"]));
    expect(stuck.reports.length).toBeGreaterThan(1);
    const moving = await new Script(20).play((second) => seen(second < 2 || second > 5 ? String(second) : "2"), refuse);
    // The refused request may have had its effect.
    expect(moving.reports.at(-1)).toMatch(/none$/);
  });

  it("says once that it cannot see the worker, and is quiet then", async () => {
    const { reports, logged } = await new Script(20).play((second) =>
      second < 3 ? seen(String(second)) : { kind: "unreadable", reason: "EACCES" },
    );
    expect(reports).toEqual([]);
    expect(logged).toEqual([
      "the worker reports its progress",
      "cannot see the progress of the worker, not judging it: EACCES",
    ]);
  });

  it("has one look under way at a time, and takes one that never ends for no answer", async () => {
    const { reports, looks, logged } = await new Script(90).play((second) =>
      second < 3 ? seen(String(second)) : new Promise<never>(() => {}),
    );
    expect([reports, looks]).toEqual([[], 3]);
    expect(logged.at(-1)).toBe("cannot see the progress of the worker, not judging it: no answer");
  });
});
