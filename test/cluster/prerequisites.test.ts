import { expect, test } from "vitest";
import { checkGo, checkLinux, checkRoot } from "./prerequisites.ts";

const fine = { platform: "linux", uid: 0, goVersion: "go version go1.26.8 linux/amd64" };

test("a Linux machine with root and a new enough Go lacks nothing", () => {
  checkLinux(fine);
  checkRoot(fine);
  checkGo(fine);
  checkGo({ ...fine, goVersion: "go version go2.0 linux/amd64" });
});

test("each lack is one sentence that says what to do", () => {
  expect(() => checkLinux({ ...fine, platform: "darwin" })).toThrow(/needs Linux, and this is darwin: run it on/);
  expect(() => checkRoot({ ...fine, uid: 1000 })).toThrow(/needs root.*run it again with sudo/);
  expect(() => checkGo({ ...fine, goVersion: undefined })).toThrow(/Go is not on PATH.*install Go 1\.26 or newer/);
  expect(() => checkGo({ ...fine, goVersion: "go version go1.25.9 linux/amd64" })).toThrow(/Go 1\.25 is too old/);
});
