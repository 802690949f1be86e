import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLogger, type LogOptions } from "./log.ts";

let folder: string;
let fd: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reprise-log-"));
  fd = openSync(join(folder, "log"), "a");
});

afterEach(() => {
  closeSync(fd);
  rmSync(folder, { recursive: true });
});

function written(): string {
  return readFileSync(join(folder, "log"), "utf8");
}

function logger(options: Partial<LogOptions> = {}) {
  return createLogger({ level: "info", fd, ...options });
}

function failure(): Error {
  const refused = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  return new Error("cannot reach API server", { cause: refused });
}

describe("the log", () => {
  it("is one JSON object per line if its output is no terminal", () => {
    logger().child({ component: "webhook" }).info({ port: 9443 }, "listening");
    const record = JSON.parse(written());
    expect(record).toEqual({
      level: "info",
      time: expect.any(String),
      component: "webhook",
      port: 9443,
      msg: "listening",
    });
    expect(Number.isNaN(Date.parse(record.time))).toBe(false);
  });

  it("is written before the call returns", () => {
    const log = logger({ pretty: true });
    log.info("first");
    expect(written()).toContain("first");
  });

  it("is one readable line on a terminal", () => {
    logger({ pretty: true }).warn({ pod: "a" }, "epoch is malformed");
    expect(written().trimEnd().split("\n")).toHaveLength(1);
    expect(written()).toMatch(/WARN.*epoch is malformed.*"pod":"a"/);
  });

  it("omits messages below its level", () => {
    logger({ level: "warn" }).info("nothing to see");
    expect(written()).toBe("");
  });

  it("contains an error with its causes and without stacks", () => {
    logger().error({ err: failure() }, "cannot list Pods");
    expect(JSON.parse(written()).err).toEqual({
      type: "Error",
      message: "cannot reach API server",
      cause: { type: "Error", message: "connect ECONNREFUSED", code: "ECONNREFUSED" },
    });
  });

  it("adds the stack of every cause at level debug", () => {
    logger({ level: "debug" }).error({ err: failure() }, "cannot list Pods");
    const { err } = JSON.parse(written());
    expect(err.stack).toContain("log.test.ts");
    expect(err.cause.stack).toContain("log.test.ts");
  });

  it("handles an error that is its own cause, and values that are no errors", () => {
    const own: Error & { cause?: unknown } = new Error("round");
    own.cause = own;
    logger().error({ err: own }, "first");
    logger().error({ err: "just text" }, "second");
    const [first, second] = written().trimEnd().split("\n");
    expect(JSON.parse(first ?? "").err.message).toBe("round");
    expect(JSON.parse(second ?? "").err).toEqual({ type: "string", message: "just text" });
  });

  it("lists every error of an AggregateError", () => {
    logger().error({ err: new AggregateError([new Error("a"), new Error("b")], "two problems") }, "config");
    expect(JSON.parse(written()).err.errors).toMatchObject([{ message: "a" }, { message: "b" }]);
  });
});
