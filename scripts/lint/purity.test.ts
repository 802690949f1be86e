import { describe, expect, it } from "vitest";
import { findImpurities } from "./purity.ts";
import { checkedTree, runCheck } from "./testing.ts";

const tree = checkedTree();
const { write } = tree;
const lint = (folder: string) => runCheck("check-purity.ts", folder);

function found(): string[] {
  return findImpurities(tree.root).map(({ file, line, what, why }) => `${file}:${line}: ${what}: ${why}`);
}

function foundIn(text: string): string[] {
  write({ "src/inject/x.ts": text });
  return found();
}

// Some tests start a process, on a machine that may be busy with others.
describe("the purity check", { timeout: 30_000 }, () => {
  it("finds nothing in this repository", async () => {
    const { code, stdout, stderr } = await lint(".");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(Number(/^purity: (\d+) files/.exec(stdout)?.[1])).toBeGreaterThan(15);
  });

  it("prints where, what and why, and fails", async () => {
    write({ "src/policy/x.ts": "\nexport const r = Math.random();\n" });
    expect(await lint(tree.root)).toEqual({
      code: 1,
      stdout: "purity: 1 files checked, 1 impurities\n",
      stderr:
        "src/policy/x.ts:2: uses Math.random: the same input must give the same answer every time; " +
        "take the choice as a parameter\n",
    });
  });

  it.each([
    ['import { readFile } from "node:fs/promises";', "imports node:fs/promises"],
    ['import "node:fs";', "imports node:fs"],
    ['import fs, { type Stats } from "node:fs";', "imports node:fs"],
    ['import { pino } from "pino";', "imports pino"],
    ['import { KubeConfig } from "@kubernetes/client-node";', "imports @kubernetes/client-node"],
    ['import { request } from "undici";', "imports undici"],
    ['import Fastify from "fastify";', "imports fastify"],
    ['import { Counter } from "prom-client";', "imports prom-client"],
    ['export * from "undici";', "imports undici"],
    ['export { request } from "undici";', "imports undici"],
    ['const client = await import("undici");', "imports undici"],
    ["const client = await import(name);", "imports a module whose name is computed"],
    ["export const now = Date.now();", "uses Date.now"],
    ["export const now = (Date as unknown as Clock).now();", "uses Date.now"],
    ["export const now = new Date();", "uses new Date()"],
    ["export const { now } = Date;", "uses Date"],
    ["export const t = performance.now();", "uses performance"],
    ["export const r = Math.random();", "uses Math.random"],
    ['export const r = Math["random"]();', "uses Math.random"],
    ["export const { random } = Math;", "uses Math"],
    ["export const id = crypto.randomUUID();", "uses crypto"],
    ["export const home = process.env;", "uses process"],
    ["setTimeout(() => {}, 1);", "uses setTimeout"],
    ["setInterval(() => {}, 1);", "uses setInterval"],
    ['export const page = fetch("/");', "uses fetch"],
    ['console.log("x");', "uses console"],
    ["export const all = { process };", "uses process"],
    ['const fs = require("fs");', "uses require"],
    ["globalThis.done = true;", "uses globalThis"],
  ])("catches %s", (text, what) => {
    const lines = foundIn(`// first line\n${text}\n`);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^src\/inject\/x\.ts:2: /);
    expect(lines[0]).toContain(`: ${what}: `);
  });

  it.each([
    'import { z } from "zod";',
    'import { parse } from "yaml";',
    'import type { Logger } from "pino";',
    'import { type Logger } from "pino";',
    'export type { Logger } from "pino";',
    "export const then = new Date(0).getTime() + Date.parse(text) + Date.UTC(2026);",
    "export const isDate = value instanceof Date;",
    "export const most = Math.max(1, 2);",
    "export const process = (fetch: () => void) => fetch();",
    "export const field = pod.process + { console: 1 }.console;",
    "export let clock: typeof performance | undefined;",
    "class Step { process() {} }",
  ])("lets %s pass", (text) => {
    expect(foundIn(text)).toEqual([]);
  });

  it("follows imports to the module that is not pure, and names it", () => {
    write({
      "src/inject/x.ts": 'import { a } from "../shared/a.ts";\n',
      "src/shared/a.ts": 'export { b as a } from "./b.ts";\n',
      "src/shared/b.ts": "\nexport const b = Date.now();\n",
    });
    expect(found()).toEqual([
      "src/inject/x.ts:1: imports src/shared/a.ts: that module is not pure: src/shared/a.ts:1 imports src/shared/b.ts",
    ]);
  });

  it("ends when modules import each other", () => {
    write({
      "src/inject/x.ts": 'import "./y.ts";\n',
      "src/inject/y.ts": 'import "./x.ts";\nconsole.log();\n',
    });
    expect(found().map((line) => line.slice(0, line.indexOf(": ")))).toEqual([
      "src/inject/x.ts:1",
      "src/inject/y.ts:2",
    ]);
  });

  it("covers every pure folder and every decide.ts, and no tests, shells or listed I/O files", () => {
    const impure = "console.log();\n";
    write({
      "src/inject/deep/a.ts": impure,
      "src/validate/a.ts": impure,
      "src/policy/a.ts": impure,
      "src/api/a.ts": impure,
      "agent/decide.ts": impure,
      "controller/group/decide.ts": impure,
      "src/inject/a.test.ts": impure,
      "controller/main.ts": impure,
      "src/kube/client.ts": impure,
      "src/config/config-file.ts": impure,
    });
    expect(found().map((line) => line.slice(0, line.indexOf(":")))).toEqual([
      "agent/decide.ts",
      "controller/group/decide.ts",
      "src/api/a.ts",
      "src/inject/deep/a.ts",
      "src/policy/a.ts",
      "src/validate/a.ts",
    ]);
  });

  it("reports an import of a file that does not exist", () => {
    expect(foundIn('import "./gone.ts";')).toEqual([
      "src/inject/x.ts:1: imports src/inject/gone.ts: there is no such file",
    ]);
  });
});
