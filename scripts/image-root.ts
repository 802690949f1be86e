// What the image holds, gathered in dist/image: Node, the compiled agent and the bundled program. Runs in the build stage of
// the Dockerfile, for the architecture that the image is for.
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { nodeFor, readArchs } from "./architectures.ts";
import { buildAgent } from "./build-agent.ts";
import { bundleCli } from "./bundle.ts";

const FOLDER = join(import.meta.dirname, "..", "dist", "image");

const { values } = parseArgs({ options: { arch: { type: "string" } } });
// A builder that knows no TARGETARCH passes "", and builds for itself.
const [arch = "amd64"] = readArchs(values.arch ? [values.arch] : undefined);

rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER, { recursive: true });
copyFileSync(nodeFor(arch), join(FOLDER, "node"));
copyFileSync(buildAgent(arch, join(FOLDER, "..", "agent")), join(FOLDER, "reprise-agent"));
await bundleCli(join(FOLDER, "lib"));
