// A control plane whose API server calls the real webhooks of JobSet and reprise. reprise's are registered from its
// manifests and served by the built program, by URL because there are no nodes.
import { join } from "node:path";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane.ts";
import { runJobSet } from "../cluster/parts/jobset.ts";
import {
  applyWebhookRights,
  buildBundle,
  type Home,
  registerWebhook,
  runWebhook,
  type ServedWebhook,
} from "../reprise-programs.ts";

export interface AdmissionChain {
  readonly home: Home;
  readonly controlPlane: ControlPlane;
  readonly webhook: ServedWebhook;
}

export interface AdmissionChainOptions {
  /** Settings below `injection:` of the webhook's config file. */
  readonly injection?: Readonly<Record<string, unknown>>;
  readonly apiServerFlags?: readonly string[];
  /** Enables JobSet's own alpha feature InPlaceRestart. */
  readonly upstreamInPlace?: boolean;
}

export async function startAdmissionChain(options: AdmissionChainOptions = {}): Promise<AdmissionChain> {
  const { apiServerFlags = [], upstreamInPlace = false, injection = {} } = options;
  const controlPlane = await startControlPlane({ controllerManager: true, apiServerFlags });
  const home: Home = { folder: join(controlPlane.folder, "reprise"), runner: controlPlane, address: "127.0.0.1" };
  const { kubectl } = controlPlane;
  const access = { kubectl, server: { url: controlPlane.server, ca: controlPlane.credentials.authority.cert } };
  try {
    await applyWebhookRights(kubectl);
    const [, webhook] = await Promise.all([
      runJobSet(controlPlane, { upstreamInPlace }),
      buildBundle(home).then((bundle) => runWebhook(home, bundle, injection, access)),
    ]);
    await registerWebhook(kubectl, webhook);
    return { home, controlPlane, webhook };
  } catch (error) {
    await controlPlane.stop();
    throw error;
  }
}
