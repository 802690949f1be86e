// Everything else ignores a mistyped annotation, and its author believes that it works.

import { annotationPath } from "../../api/admission.ts";
import { ANNOTATION, GROUP } from "../../api/names.ts";
import { nearest } from "../../api/nearest.ts";
import { judged, type Rule } from "../rule.ts";

const KNOWN: readonly string[] = Object.values(ANNOTATION);
const PREFIX = `${GROUP}/`;

/** The limit of Kubernetes for the part after the slash. A longer name is not a typing error. */
const MAX_NAME = 63;

/** Keeps the output short and bounds the work on a hostile object. */
const MAX_REPORTED = 10;

export const unknownAnnotations: Rule = {
  name: "unknown-annotations",
  describe: "Every `reprise.dev/*` annotation of the JobSet is one that reprise knows.",
  severity: "warning",
  scope: "every-jobset",
  check({ annotations }) {
    const unknown = Object.keys(annotations).filter((key) => key.startsWith(PREFIX) && !KNOWN.includes(key));
    const problems = unknown.slice(0, MAX_REPORTED).map((key) => ({
      path: annotationPath(key.slice(0, PREFIX.length + MAX_NAME)),
      message: `is not known to reprise and has no effect; ${suggestion(key.slice(PREFIX.length))}`,
    }));
    return judged(problems, "every annotation is known");
  },
};

/** Compares without the prefix: it is common to all names and would make them all look similar. */
function suggestion(name: string): string {
  const known = KNOWN.filter((key) => key !== ANNOTATION.status).map((key) => key.slice(PREFIX.length));
  const meant = name.length > MAX_NAME ? undefined : nearest(name, known);
  // A list of all names would not fit into a warning.
  return meant === undefined ? "remove it (docs/annotations.md lists all)" : `did you mean ${PREFIX}${meant}?`;
}
