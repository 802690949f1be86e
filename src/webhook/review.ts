// Parses an AdmissionReview. Only the envelope is checked. The objects inside stay exactly as received, so that fields
// unknown to this release survive. Never throws: the response names what cannot be read.
import { z } from "zod";
import { reasonOf } from "../errors.ts";
import { asMap, asText } from "../json/fields.ts";
import type { Json, JsonObject } from "../json/types.ts";

export const REVIEW_API_VERSION = "admission.k8s.io/v1";
export const REVIEW_KIND = "AdmissionReview";

const OPERATIONS = ["CREATE", "UPDATE", "DELETE", "CONNECT"] as const;
export type Operation = (typeof OPERATIONS)[number];

/** One request of the API server, with the objects as raw JSON; undefined if the API server sent null. */
export interface AdmissionRequest {
  readonly uid: string;
  readonly operation: Operation;
  readonly namespace: string;
  /** Empty on a CREATE that uses generateName. */
  readonly name: string;
  readonly dryRun: boolean;
  readonly object: JsonObject | undefined;
  readonly oldObject: JsonObject | undefined;
}

export type ParsedReview =
  | { readonly kind: "request"; readonly request: AdmissionRequest }
  | {
      readonly kind: "unreadable";
      readonly reason: "not-json" | "not-a-review";
      readonly problem: string;
      readonly uid: string | undefined;
    };

// The API server omits empty fields, and Go clients write null: both mean "not set".
const envelope = z.object({
  apiVersion: z.literal(REVIEW_API_VERSION),
  kind: z.literal(REVIEW_KIND),
  request: z.object({
    uid: z.string().min(1),
    operation: z.enum(OPERATIONS),
    namespace: z.string().nullish(),
    name: z.string().nullish(),
    dryRun: z.boolean().nullish(),
    object: z.unknown().optional(),
    oldObject: z.unknown().optional(),
  }),
});

export function parseReview(body: Buffer): ParsedReview {
  let json: Json;
  try {
    json = JSON.parse(body.toString("utf8"));
  } catch (error) {
    return { kind: "unreadable", reason: "not-json", problem: `not valid JSON: ${reasonOf(error)}`, uid: undefined };
  }
  const parsed = envelope.safeParse(json);
  if (!parsed.success) {
    const problem = `not an AdmissionReview ${REVIEW_API_VERSION}: ${parsed.error.issues.map(describe).join("; ")}`;
    return { kind: "unreadable", reason: "not-a-review", problem, uid: uidOf(json) };
  }
  const { uid, operation, namespace, name, dryRun, object, oldObject } = parsed.data.request;
  return {
    kind: "request",
    request: {
      uid,
      operation,
      namespace: namespace ?? "",
      name: name ?? "",
      dryRun: dryRun ?? false,
      object: jsonObject(object),
      oldObject: jsonObject(oldObject),
    },
  };
}

function describe(issue: z.core.$ZodIssue): string {
  const path = issue.path.map(String).join(".");
  return path === "" ? issue.message : `${path}: ${issue.message}`;
}

/** The UID of an invalid review, so that the response can name the request. */
function uidOf(review: Json): string | undefined {
  const uid = asText(asMap(asMap(review)["request"])["uid"]);
  return uid === "" ? undefined : uid;
}

/** The value as an object, or undefined. It comes from JSON.parse, so any object is a JsonObject. */
function jsonObject(value: unknown): JsonObject | undefined {
  return isObject(value) ? value : undefined;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
