// Builds and fetches what the tests of the dashboard need, so that no time limit includes it.
import { terminalProgress } from "../cluster/progress.ts";
import prepareCluster from "../e2e/setup.ts";
import { ensureRepriseImage } from "../image/reprise-image.ts";
import { ensureChromium } from "./chromium.ts";

export default async function setup(): Promise<void> {
  await ensureChromium(terminalProgress());
  await prepareCluster();
  await ensureRepriseImage(terminalProgress());
}
