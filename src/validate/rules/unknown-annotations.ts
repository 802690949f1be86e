// A mistyped annotation is silently ignored by everything else, and its author believes it works.
import { ANNOTATION, GROUP } from "../../api/names.ts";
import { nearest } from "../../api/nearest.ts";
import { annotationPath } from "../annotation.ts";
import { judged, type Rule } from "../rule.ts";

const KNOWN: readonly string[] = Object.values(ANNOTATION);
const PREFIX = `${GROUP}/`;

/** What Kubernetes allows behind the slash; a longer one was not mistyped, and is not worth comparing. */
const MAX_NAME = 63;

/** More would be noise, and comparing thousands of hostile ones work. */
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

/** Compared without the prefix, which all of them share and which would make everything look near. */
function suggestion(name: string): string {
  const known = KNOWN.filter((key) => key !== ANNOTATION.status).map((key) => key.slice(PREFIX.length));
  const meant = name.length > MAX_NAME ? undefined : nearest(name, known);
  // All of the names would not fit into the length of a warning.
  return meant === undefined ? "remove it (docs/annotations.md lists all)" : `did you mean ${PREFIX}${meant}?`;
}
