import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { bundledCli, SLOW } from "../testing.ts";

const cli = bundledCli();

/** What bash offers for a command line, by running the script in a real bash. */
async function offered(...words: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await cli.run(["completion", "bash"]);
  const line = words.map((word) => `'${word}'`).join(" ");
  const ask = `COMP_WORDS=(reprise ${line}); COMP_CWORD=${words.length}; _reprise; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync("bash", ["-c", `${stdout}\n${ask}`], { encoding: "utf8" })
    .trim()
    .split("\n");
}

describe("reprise completion", SLOW, () => {
  it("offers commands, their options and the values of an option in bash", async () => {
    expect(await offered("st")).toEqual(["status"]);
    expect(await offered("restart", "train", "--re")).toEqual(["--reason"]);
    expect(await offered("status", "-o", "")).toEqual(["text", "wide", "json", "yaml"]);
    expect(await offered("validate", "-o", "")).toEqual(["text", "json"]);
    expect(await offered("--kubeconfig=x", "doc")).toEqual(["doctor"]);
  });

  it("prints scripts for zsh and fish with every command", async () => {
    const { stdout: help } = await cli.run(["--help"]);
    expect(help).toContain("completion");
    const { stdout: zsh } = await cli.run(["completion", "zsh"]);
    expect(zsh).toMatch(/^#compdef reprise\n/);
    expect(zsh).toContain("bashcompinit");
    const { stdout: fish } = await cli.run(["completion", "fish"]);
    for (const name of ["doctor", "explain", "restart", "simulate", "status", "validate"])
      expect(fish).toContain(`-n __fish_use_subcommand -f -a ${name} -d `);
    expect(fish).toMatch(/-n "__fish_seen_subcommand_from status" -s o -l output -x -a 'text wide json yaml'/);
  });

  it("names the shells that it knows", async () => {
    const { code, stderr } = await cli.run(["completion", "tcsh"]);
    expect(stderr).toMatch(/Allowed choices are bash, zsh, fish/);
    expect(code).toBe(1);
  });
});
