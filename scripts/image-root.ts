// Collects the contents of the image in dist/image: Node.js, the compiled agent and the bundled CLI. Runs in the build
// stage of the Dockerfile, for the image's architecture.
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { nodeFor, readArchs } from "./architectures.ts";
import { buildAgent } from "./build-agent.ts";
import { bundleCli } from "./bundle.ts";

const FOLDER = join(import.meta.dirname, "..", "dist", "image");

const { values } = parseArgs({ options: { arch: { type: "string" } } });
// A builder without TARGETARCH passes "" and builds for its own architecture.
const [arch = "amd64"] = readArchs(values.arch ? [values.arch] : undefined);

rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER, { recursive: true });
copyFileSync(nodeFor(arch), join(FOLDER, "node"));
copyFileSync(buildAgent(arch, join(FOLDER, "..", "agent")), join(FOLDER, "reprise-agent"));
await bundleCli(join(FOLDER, "lib"));
