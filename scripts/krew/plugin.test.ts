// The plugin as krew installs it: the rules of krew's own validation, and the archive unpacked and started.
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { VERSION } from "../../src/api/version.ts";
import { run } from "../../test/cluster/run.ts";
import { krewManifest, MANIFEST, writeArchive } from "./plugin.ts";

const SOURCE = "https://git.example/team/reprise";

let folder: string;
let archive: string;
let plugin: ReturnType<typeof parse>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "reprise-krew-"));
  archive = await writeArchive(folder);
  plugin = parse(krewManifest(archive, SOURCE));
});

afterAll(() => rmSync(folder, { recursive: true }));

describe("the krew manifest", () => {
  it("has the name of its file, the version of reprise and one line that describes it", () => {
    expect(plugin.apiVersion).toBe("krew.googlecontainertools.github.com/v1alpha2");
    expect(plugin.kind).toBe("Plugin");
    expect(`${plugin.metadata.name}.yaml`).toBe(MANIFEST);
    expect(plugin.metadata.name).toMatch(/^[\w-]+$/);
    expect(plugin.spec.version).toBe(`v${VERSION}`);
    expect(plugin.spec.version).toMatch(/^v\d+\.\d+\.\d+/);
    expect(plugin.spec.homepage).toBe(SOURCE);
    // krew index: at most 50 characters, and no full stop.
    expect(plugin.spec.shortDescription).toMatch(/^[^\n]{1,50}(?<!\.)$/);
    expect(plugin.spec.description).not.toBe("");
  });

  it("has each platform once, with the archive of this release and its checksum", () => {
    const platforms = plugin.spec.platforms.map(({ selector, ...rest }: { selector: object }) => {
      expect(rest).toEqual({
        uri: `${SOURCE}/releases/download/v${VERSION}/${basename(archive)}`,
        sha256: createHash("sha256").update(readFileSync(archive)).digest("hex"),
        bin: "reprise.js",
      });
      return selector;
    });
    expect(platforms).toEqual(
      ["linux", "darwin"].flatMap((os) => ["amd64", "arm64"].map((arch) => ({ matchLabels: { os, arch } }))),
    );
  });

  it("has no field that krew does not know", () => {
    const known = ["version", "homepage", "shortDescription", "description", "caveats", "platforms"];
    expect(Object.keys(plugin.spec)).toEqual(known);
  });
});

describe("the archive", () => {
  it("has the license, and is the same for the same sources", async () => {
    const other = join(folder, "again");
    mkdirSync(other);
    expect(readFileSync(await writeArchive(other)).equals(readFileSync(archive))).toBe(true);
    expect(run(["tar", "--list", "--gzip", `--file=${archive}`]).split("\n")).toContain("./LICENSE");
  });

  it("is started by its name on the PATH, through the link that krew makes", () => {
    const [store, bin] = ["store", "bin"].map((name) => join(folder, name)) as [string, string];
    for (const each of [store, bin]) mkdirSync(each);
    run(["tar", "--extract", "--gzip", `--file=${archive}`, `--directory=${store}`]);
    symlinkSync(join(store, plugin.spec.platforms[0].bin), join(bin, "kubectl-reprise"));
    const path = [bin, dirname(process.execPath), "/usr/bin", "/bin"].join(delimiter);
    expect(run(["env", `PATH=${path}`, "kubectl-reprise", "version"])).toMatch(`reprise ${VERSION} `);
  });
});
