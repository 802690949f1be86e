import { describe, expect, it } from "vitest";
import { nearest } from "./nearest.ts";

const keys = ["logLevel", "injection", "webhook", "controller", "stuckPods"];

describe("nearest", () => {
  it.each([
    ["loglevel", "logLevel"],
    ["log-level", "logLevel"],
    ["injektion", "injection"],
    ["webhok", "webhook"],
    ["stuckPod", "stuckPods"],
    ["contorller", "controller"],
  ])("for %s suggests %s", (typed, meant) => {
    expect(nearest(typed, keys)).toBe(meant);
  });

  it.each(["replicas", "x", ""])("suggests nothing for %j, which resembles no key", (typed) => {
    expect(nearest(typed, keys)).toBeUndefined();
  });

  it("never suggests a short name that shares no letter", () => {
    expect(nearest("xy", ["ab"])).toBeUndefined();
  });

  it("takes the first of two equally near names", () => {
    expect(nearest("port1", ["port2", "port3"])).toBe("port2");
  });

  it("has no suggestion when there are no names", () => {
    expect(nearest("port", [])).toBeUndefined();
  });
});
