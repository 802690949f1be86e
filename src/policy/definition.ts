// The definition of one failure policy, in the config file or in a ConfigMap: the two exit-code classes. Pure. Codes
// are read exactly as in the annotations, and every problem comes with a fix.
import { parseDocument } from "yaml";
import { z } from "zod";
import { nearest } from "../api/nearest.ts";
import { reasonOf } from "../errors.ts";
import { type ExitCodePolicy, readClasses } from "./exit-codes.ts";

export interface DefinitionProblem {
  /** Undefined for a problem of the whole definition. */
  readonly field: string | undefined;
  readonly problem: string;
  readonly fix: string;
}

export type Definition =
  | { readonly ok: true; readonly policy: ExitCodePolicy }
  | { readonly ok: false; readonly problems: readonly DefinitionProblem[] };

const FIELDS = { fail: "failExitCodes", recreate: "recreateExitCodes" } as const;
const EXAMPLE = 'use a field such as `recreateExitCodes: "80"`';

// YAML reads `failExitCodes: 78` as a number and `failExitCodes: 40-50` as text. Both are valid.
const codes = z.union([z.string(), z.int().transform(String)]).nullish();
const definition = z.strictObject({ [FIELDS.fail]: codes, [FIELDS.recreate]: codes });

/** Fits two classes that list every code, and comments. A longer definition is not read. */
export const MAX_DEFINITION_CHARS = 8_192;

export function readDefinitionText(text: string): Definition {
  if (text.length > MAX_DEFINITION_CHARS) {
    return wrong(undefined, `has more than ${MAX_DEFINITION_CHARS} characters`, "shorten it");
  }
  try {
    const document = parseDocument(text, { prettyErrors: false, logLevel: "error" });
    const [error] = document.errors;
    if (error !== undefined) return wrong(undefined, `is not valid YAML: ${error.message.split("\n", 1)[0]}`, EXAMPLE);
    return readDefinition(document.toJS());
  } catch (error) {
    // Unknown aliases, and aliases that expand to too much, fail only here.
    return wrong(undefined, `is not valid YAML: ${reasonOf(error)}`, EXAMPLE);
  }
}

export function readDefinition(value: unknown): Definition {
  const parsed = definition.safeParse(value);
  if (!parsed.success) return { ok: false, problems: parsed.error.issues.flatMap(shapeProblems) };
  const { [FIELDS.fail]: fail, [FIELDS.recreate]: recreate } = parsed.data;
  const read = readClasses({ fail, recreate }, FIELDS);
  if (!read.ok) {
    return { ok: false, problems: read.problems.map(({ of, problem, fix }) => ({ field: FIELDS[of], problem, fix })) };
  }
  const isEmpty = read.policy.fail.length + read.policy.recreate.length === 0;
  return isEmpty ? wrong(undefined, `has neither ${FIELDS.fail} nor ${FIELDS.recreate}`, EXAMPLE) : read;
}

function shapeProblems(issue: z.core.$ZodIssue): DefinitionProblem[] {
  if (issue.code === "unrecognized_keys") {
    const known = Object.values(FIELDS);
    return issue.keys.map((key) => {
      const meant = nearest(key, known);
      const fix = meant === undefined ? `remove it (known: ${known.join(", ")})` : `did you mean "${meant}"?`;
      return { field: key, problem: "is not a field of a failure policy", fix };
    });
  }
  const [field] = issue.path;
  return field === undefined
    ? [{ field: undefined, problem: `is not a map with ${FIELDS.fail} and ${FIELDS.recreate}`, fix: EXAMPLE }]
    : [{ field: String(field), problem: "is not a list of exit codes", fix: 'use a value such as "40-50,137"' }];
}

function wrong(field: string | undefined, problem: string, fix: string): Definition {
  return { ok: false, problems: [{ field, problem, fix }] };
}
