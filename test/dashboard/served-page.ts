// The built page, served by the real server from any source of objects.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundlePage } from "../../scripts/bundle.ts";
import { readAssets } from "../../src/dashboard/assets.ts";
import { type RunningDashboard, runDashboard } from "../../src/dashboard/run.ts";
import type { CollectionReader } from "../../src/kube/reflector.ts";
import { createLogger } from "../../src/telemetry/log.ts";

export interface ServedPage extends RunningDashboard {
  readonly url: string;
}

export async function servePage(client: CollectionReader, port = 0): Promise<ServedPage> {
  const folder = mkdtempSync(join(tmpdir(), "reprise-page-"));
  try {
    await bundlePage(folder);
    const dashboard = await runDashboard({
      client,
      address: "127.0.0.1",
      port,
      allowedHosts: [],
      assets: readAssets(pathToFileURL(`${folder}/`)),
      log: createLogger({ level: "error" }),
    });
    return { ...dashboard, url: `http://127.0.0.1:${dashboard.port}/` };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
