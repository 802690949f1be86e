// The image of the Dockerfile: what it contains, and that it runs as in a Pod.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Arch, nativeArch } from "../../scripts/architectures.ts";
import { VERSION } from "../../src/api/version.ts";
import { asList, asMap } from "../../src/json/fields.ts";
import { terminalProgress } from "../cluster/progress.ts";
import { run } from "../cluster/run.ts";
import { buildah } from "../image/buildah.ts";
import { ensureRepriseIndex } from "../image/reprise-image.ts";

/** MiB; Node and the agent's runtime are 230 of them. */
const SIZE_LIMIT = 280;

/** Bytes 18 and 19 of an ELF file. */
const ELF_MACHINE = { amd64: 62, arm64: 183 } as const;

const foreign: Arch = nativeArch() === "amd64" ? "arm64" : "amd64";
let index: string;
const images: Partial<Record<Arch, Mounted>> = {};

interface Mounted {
  readonly id: string;
  readonly container: string;
  readonly root: string;
}

beforeAll(async () => {
  index = await ensureRepriseIndex(terminalProgress(), [nativeArch(), foreign]);
  for (const arch of [nativeArch(), foreign]) {
    // As a node does: by the one tag, and its own architecture.
    const container = buildah(["from", "--pull-never", `--arch=${arch}`, index]);
    const id = buildah(["inspect", "--type=container", "--format={{.FromImageID}}", container]);
    images[arch] = { id, container, root: buildah(["mount", container]) };
  }
}, 900_000);

afterAll(() => {
  for (const { container } of Object.values(images)) buildah(["rm", container]);
});

function image(arch: Arch): Mounted {
  const found = images[arch];
  if (found === undefined) throw new Error(`there is no image for ${arch}`);
  return found;
}

/** Runs a program of the image as a Pod does: as its user, on a read-only root, with /proc and /dev. */
function inImage(argv: readonly string[], masked: readonly string[] = []): string {
  const { root } = image(nativeArch());
  const script = [
    `mount --bind ${root} ${root}`,
    ...masked.map((path) => `mount --bind /dev/null ${root}${path}`),
    `mount -t proc proc ${root}/proc`,
    `mount --rbind /dev ${root}/dev`,
    `mount -o remount,bind,ro ${root}`,
    `exec chroot --userspec=65532:65532 ${root} "$@"`,
  ].join(" && ");
  return run([
    "env",
    "-i",
    "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
    "unshare",
    "--mount",
    "sh",
    "-c",
    script,
    "-",
    ...argv,
  ]);
}

const NODE = "/usr/local/bin/node";
const PROGRAM = "/usr/local/lib/reprise/reprise.js";
const AGENT = "/usr/local/bin/reprise-agent";

describe("the index", () => {
  it("has an image for each architecture under one tag", () => {
    const { mediaType, manifests } = JSON.parse(buildah(["manifest", "inspect", index]));
    expect(mediaType).toMatch(/image\.index|manifest\.list/);
    const platforms = asList(manifests).map((each) => asMap(asMap(each)["platform"]));
    expect(platforms.map(({ os, architecture }) => `${os}/${architecture}`).sort()).toEqual([
      "linux/amd64",
      "linux/arm64",
    ]);
    expect(image("amd64").id).not.toBe(image("arm64").id);
  });
});

describe.each([nativeArch(), foreign])("the image for %s", (arch) => {
  it("runs as a numeric user that is not root, and is named for its architecture", () => {
    const { OCIv1 } = JSON.parse(buildah(["inspect", "--type=image", image(arch).id]));
    expect(OCIv1).toMatchObject({
      architecture: arch,
      os: "linux",
      config: { User: "65532:65532", Entrypoint: [NODE, PROGRAM] },
    });
    expect(OCIv1.config.Env ?? []).not.toContainEqual(expect.stringMatching(/^NODE_/));
  });

  it("adds one layer each for Node, the agent and the program to its base, and stays small", () => {
    const { OCIv1 } = JSON.parse(buildah(["inspect", "--type=image", image(arch).id]));
    expect(asList(asMap(asMap(OCIv1)["rootfs"])["diff_ids"])).toHaveLength(4);
    const [mebibytes = ""] = run(["du", "--summarize", "--block-size=1M", image(arch).root]).split("\t");
    expect(Number(mebibytes)).toBeGreaterThan(200);
    expect(Number(mebibytes)).toBeLessThan(SIZE_LIMIT);
  });

  it("contains executables of its own architecture", () => {
    for (const path of [NODE, AGENT]) {
      expect(readFileSync(join(image(arch).root, path)).readUInt16LE(18)).toBe(ELF_MACHINE[arch]);
    }
  });

  it("contains Node, the agent and the bundle, and no development tools", () => {
    const local = (folder: string) => readdirSync(join(image(arch).root, "usr/local", folder)).sort();
    expect(local("bin")).toEqual(["node", "reprise-agent"]);
    expect(local("lib")).toEqual(["reprise"]);
    expect(local("lib/reprise")).toEqual(["chunks", "dashboard", "reprise.js"]);
    expect(local("lib/reprise/dashboard")).toEqual(["icon.svg", "index.html", "page.js", "style.css"]);
    expect(local("lib/reprise/chunks").filter((file) => !file.endsWith(".js"))).toEqual([]);
    for (const folder of ["bin", "sbin", "usr/bin", "usr/sbin"]) {
      const programs = readdirSync(join(image(arch).root, folder)).filter((name) => /sh$|^npm|^apt|^dpkg$/.test(name));
      expect(programs).toEqual([]);
    }
    expect(readdirSync(image(arch).root)).not.toContain("build");
  });
});

describe("on a read-only root and without a shell", () => {
  it("prints its version with the Node that the project pins", () => {
    expect(inImage([NODE, PROGRAM, "version"])).toBe(`reprise ${VERSION} (Node.js ${process.versions.node})\n`);
  });

  it("starts the agent without Node", () => {
    // The error message is the agent's own.
    expect(() => inImage([AGENT, "help"], [NODE])).toThrow('unknown command "help"');
    expect(() => inImage([NODE, "--version"], [NODE])).toThrow(/exit 126/);
  });
});
