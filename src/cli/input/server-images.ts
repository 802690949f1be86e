// The images that the programs of reprise run in a cluster. Users who may not read them see none.
import { asList, asMap, asText } from "../../json/fields.ts";
import { hasStatus } from "../../kube/api-error.ts";
import type { KubeClient } from "../../kube/client.ts";
import { listAll } from "../../kube/list.ts";

export async function readImages(client: KubeClient): Promise<Readonly<Record<string, string>>> {
  try {
    const found = await listAll(client, "/apis/apps/v1/deployments", imageOf, "app.kubernetes.io/part-of=reprise");
    return Object.fromEntries(found);
  } catch (error) {
    if (hasStatus(error, 403)) return {};
    throw error;
  }
}

function imageOf(deployment: unknown): readonly [name: string, image: string] {
  const { metadata, spec } = asMap(deployment);
  const [container] = asList(asMap(asMap(asMap(spec)["template"])["spec"])["containers"]);
  return [asText(asMap(metadata)["name"]) ?? "", asText(asMap(container)["image"]) ?? ""];
}
