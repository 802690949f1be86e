// Describes a write to the API server in words that are the same in every restart, without names and times.
import { asList, asMap, asText } from "../../src/json/fields.ts";

/** Undefined for requests that are no part of a restart: reads, and renewals of Leases. */
export function describeWrite(method: string, path: string, body: unknown): string | undefined {
  if (method === "GET") return undefined;
  const resource = resourceOf(path);
  if (resource === "leases") return undefined;
  const detail = detailOf(resource, asMap(body));
  return `${method} ${resource}${detail === "" ? "" : ` (${detail})`}`;
}

/** For example inplacerestarts/status for /apis/reprise.dev/v1alpha1/namespaces/ns/inplacerestarts/train/status. */
function resourceOf(path: string): string {
  const [url = ""] = path.split("?", 1);
  const below = url.replace(/^\/apis?\/([^/]*\.[^/]*\/)?v[^/]+\//, "").replace(/^namespaces\/[^/]+\//, "");
  const [resource = "", , subresource] = below.split("/");
  return subresource === undefined ? resource : `${resource}/${subresource}`;
}

function detailOf(resource: string, body: Readonly<Record<string, unknown>>): string {
  if (resource === "events") return asText(body["reason"]) ?? "once more";
  if (resource === "groupepochs") {
    const { deprecatedEpoch, syncedEpoch } = asMap(body["spec"]);
    return deprecatedEpoch === syncedEpoch ? "deprecated" : "synced";
  }
  if (resource !== "inplacerestarts/status") return "";
  const status = asMap(body["status"]);
  const record = asMap(asList(status["history"]).at(-1));
  // The steps of a restart in its history record, the last one first.
  const step = ["allRunning", "synced", "deprecated"].find((each) => record[each] !== undefined);
  return [asText(status["phase"]) ?? "", ...(step === undefined ? [] : [step])].join(", ");
}
