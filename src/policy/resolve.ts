// The exit-code classes of one JobSet: its named failure policy merged with its exit-code annotations. Pure.
import { annotationPath, type Finding } from "../api/admission.ts";
import { ANNOTATION } from "../api/names.ts";
import { suggestion } from "../api/nearest.ts";
import { quoted } from "../json/brief.ts";
import {
  ANNOTATION_OF,
  type ExitCodePolicy,
  formatCodes,
  MAX_CODES,
  type ParsedPolicy,
  parseExitCodePolicy,
} from "./exit-codes.ts";
import type { PolicyAnswer } from "./lookup.ts";

const CLASSES = ["fail", "recreate"] as const;
const OTHER = { fail: "recreate", recreate: "fail" } as const;

/**
 * Annotations add codes to the policy. A code that the policy has in the other class is an error: its author may not
 * know the policy, and a wrong guess fails a JobSet.
 */
export function resolveExitCodes(
  annotations: Readonly<Record<string, unknown>>,
  find: (name: string) => PolicyAnswer,
): ParsedPolicy {
  const own = parseExitCodePolicy(annotations);
  const name = Object.hasOwn(annotations, ANNOTATION.failurePolicy) ? annotations[ANNOTATION.failurePolicy] : undefined;
  if (typeof name !== "string") return own;
  const named = namedPolicy(name, find);
  if (!own.ok || !named.ok) {
    return { ok: false, errors: [...(own.ok ? [] : own.errors), ...(named.ok ? [] : named.errors)] };
  }
  return merged(own.policy, named.policy, name);
}

function namedPolicy(name: string, find: (name: string) => PolicyAnswer): ParsedPolicy {
  if (name.trim() === "") {
    return refused('names no failure policy; use a name such as "cuda-default", or remove the annotation');
  }
  const answer = find(name);
  const shown = quoted(name);
  switch (answer.kind) {
    case "found":
      return { ok: true, policy: answer.policy };
    case "unknown": {
      const fix = suggestion(name, answer.known) ?? "define it there, or remove the annotation";
      return refused(`${shown} is not defined in ${answer.places}; ${fix}`);
    }
    case "invalid":
      return refused(
        ...answer.problems.map(({ field, problem, fix }) => {
          const subject = field === undefined ? "it" : field;
          return `${shown} is not valid: in ${answer.place}, ${subject} ${problem}; ${fix}`;
        }),
      );
    case "unavailable":
      return refused(`${shown} cannot be looked up: ${answer.reason}`);
  }
}

function merged(own: ExitCodePolicy, named: ExitCodePolicy, name: string): ParsedPolicy {
  const errors = CLASSES.flatMap((of) => {
    const shared = own[of].filter((code) => named[OTHER[of]].includes(code));
    if (shared.length === 0) return [];
    const message =
      `${formatCodes(shared)} is in the ${OTHER[of]} class of failure policy "${name}", and a code belongs to only ` +
      `one class; remove it here, or remove ${ANNOTATION.failurePolicy} and list all codes in annotations`;
    return [{ rule: RULE, path: annotationPath(ANNOTATION_OF[of]), message }];
  });
  if (errors.length > 0) return { ok: false, errors };
  const policy = { fail: union(own.fail, named.fail), recreate: union(own.recreate, named.recreate) };
  const count = policy.fail.length + policy.recreate.length;
  if (count <= MAX_CODES) return { ok: true, policy };
  return refused(
    `has ${count} codes together with the exit-code annotations, and Kubernetes allows ${MAX_CODES} besides 0 in one ` +
      "rule; leave at least one code for restarts in place",
  );
}

function union(a: readonly number[], b: readonly number[]): readonly number[] {
  return [...new Set([...a, ...b])].sort((x, y) => x - y);
}

const RULE = "failure-policy";

function refused(...messages: readonly string[]): { readonly ok: false; readonly errors: readonly Finding[] } {
  const path = annotationPath(ANNOTATION.failurePolicy);
  return { ok: false, errors: messages.map((message) => ({ rule: RULE, path, message })) };
}
