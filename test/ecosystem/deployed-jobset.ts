// A JobSet that a GitOps tool deploys, and what must not change when it is deployed again.
import { asList, asMap, asText } from "../../src/json/fields.ts";
import type { Kubectl } from "../cluster/kubectl.ts";

export interface DeployedJobSet {
  readonly uid: string;
  readonly generation: unknown;
  readonly spec: unknown;
  readonly labels: Readonly<Record<string, unknown>>;
  readonly annotations: Readonly<Record<string, unknown>>;
  /** Who has written the object, and how, without writes of its status: `manager operation`. */
  readonly managers: readonly string[];
}

export async function deployedJobSet(kubectl: Kubectl, namespace: string, name: string): Promise<DeployedJobSet> {
  const args = ["get", "jobset", name, "-n", namespace, "-o", "json", "--show-managed-fields"];
  const raw = asMap(JSON.parse(await kubectl(args)));
  const metadata = asMap(raw["metadata"]);
  const managers = asList(metadata["managedFields"])
    .map(asMap)
    .filter(({ subresource }) => subresource === undefined);
  return {
    uid: asText(metadata["uid"]) ?? "",
    generation: metadata["generation"],
    spec: raw["spec"],
    labels: asMap(metadata["labels"]),
    annotations: asMap(metadata["annotations"]),
    managers: managers.map(({ manager, operation }) => `${manager} ${operation}`),
  };
}
