// Waits for the custom resources that a product brings.
import type { Kubectl } from "../cluster/kubectl.ts";
import { waitFor } from "../cluster/proc.ts";

/** Repeats the wait of kubectl, which fails for a definition that has no status yet. */
export async function definitionsEstablished(kubectl: Kubectl): Promise<void> {
  await waitFor("the custom resources are established", 60_000, async () => {
    await kubectl(["wait", "crd", "--all", "--for=condition=Established", "--timeout=30s"]);
    return true;
  });
}
