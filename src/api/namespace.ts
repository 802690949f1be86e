// The one annotation of a Namespace that reprise reads, reprise.dev/max-restarts. Pure.
import { asMap, asText } from "../json/fields.ts";
import { readAnnotations } from "./metadata.ts";
import { ANNOTATION } from "./names.ts";

/** What is known about reprise.dev/max-restarts of a Namespace. */
export type NamespaceLimit =
  | {
      readonly kind: "known";
      /** As written. Undefined without the annotation. */
      readonly text: string | undefined;
    }
  | { readonly kind: "unavailable"; readonly reason: string };

/** Looks a Namespace up by its name. */
export type NamespaceLookup = (namespace: string) => NamespaceLimit;

/** Bounds memory, and is long enough to be recognized as invalid. */
const MAX_TEXT_CHARS = 40;

/** A Namespace without the annotation. */
export const UNANNOTATED: NamespaceLimit = { kind: "known", text: undefined };

export function isNamespace(raw: unknown): boolean {
  const { kind, apiVersion } = asMap(raw);
  return asText(kind) === "Namespace" && asText(apiVersion) === "v1";
}

export function readNamespaceLimit(raw: unknown): NamespaceLimit {
  const text = readAnnotations(raw)[ANNOTATION.maxRestarts];
  return text === undefined ? UNANNOTATED : { kind: "known", text: text.slice(0, MAX_TEXT_CHARS) };
}
