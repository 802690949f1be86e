// Metadata, owner and conditions, read the same way for every kind. Pure.
import { asList, asMap, asText, asTextMap } from "../json/fields.ts";

export interface Owner {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

export interface Identity {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/** As in every Kubernetes status. Times stay text: only code with a clock compares them. */
export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime?: string;
}

/** RFC 3339 in whole seconds, as Kubernetes writes times. */
export function wholeSeconds(time: number): string {
  return new Date(time).toISOString().replace(/\.\d+Z$/, "Z");
}

/** A missing name or UID reads as empty text. It equals no real one, so no owner chain matches through it. */
export function readIdentity(raw: unknown): Identity {
  const metadata = asMap(asMap(raw)["metadata"]);
  return {
    name: asText(metadata["name"]) ?? "",
    namespace: asText(metadata["namespace"]) ?? "",
    uid: asText(metadata["uid"]) ?? "",
    resourceVersion: asText(metadata["resourceVersion"]) ?? "",
  };
}

export function readLabels(raw: unknown): Readonly<Record<string, string>> {
  return asTextMap(asMap(asMap(raw)["metadata"])["labels"]);
}

export function readAnnotations(raw: unknown): Readonly<Record<string, string>> {
  return asTextMap(asMap(asMap(raw)["metadata"])["annotations"]);
}

/** The controlling owner. Other owners only keep the object alive. */
export function readController(raw: unknown): Owner | undefined {
  for (const item of asList(asMap(asMap(raw)["metadata"])["ownerReferences"])) {
    const reference = asMap(item);
    const uid = asText(reference["uid"]);
    if (reference["controller"] !== true || uid === undefined || uid === "") continue;
    return { kind: asText(reference["kind"]) ?? "", name: asText(reference["name"]) ?? "", uid };
  }
  return undefined;
}

export function readDeletionTimestamp(raw: unknown): string | undefined {
  return asText(asMap(asMap(raw)["metadata"])["deletionTimestamp"]);
}

/** The conditions of a status, without entries that have no type. */
export function readConditions(value: unknown): readonly Condition[] {
  return asList(value).flatMap((item) => {
    const condition = asMap(item);
    const type = asText(condition["type"]);
    const status = condition["status"];
    if (type === undefined) return [];
    const changed = asText(condition["lastTransitionTime"]);
    return [
      {
        type,
        status: status === "True" || status === "False" ? status : "Unknown",
        reason: asText(condition["reason"]) ?? "",
        message: asText(condition["message"]) ?? "",
        ...(changed === undefined ? {} : { lastTransitionTime: changed }),
      } satisfies Condition,
    ];
  });
}

export function isTrue(conditions: readonly Condition[], type: string): boolean {
  return conditions.some((condition) => condition.type === type && condition.status === "True");
}
