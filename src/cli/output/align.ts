// Which items of two versions of a list belong together. Pure. Injection adds items and changes some, but never
// reorders them, so one pass is enough.
import { isObject, textAt } from "../../json/edit.ts";
import type { Json } from "../../json/types.ts";

/** Steps in the order of the list. New items are added before the old item `at`. */
export type Step =
  | { readonly kind: "keep"; readonly old: number; readonly now: number }
  | { readonly kind: "add"; readonly at: number; readonly now: number }
  | { readonly kind: "remove"; readonly old: number };

export function align(before: readonly Json[], after: readonly Json[]): Step[] {
  const steps: Step[] = [];
  let [old, now] = [0, 0];
  while (old < before.length && now < after.length) {
    const [was, is] = [before[old], after[now]];
    if (belongTogether(was, is)) steps.push({ kind: "keep", old: old++, now: now++ });
    else if (comesLater(was, after, now)) steps.push({ kind: "add", at: old, now: now++ });
    else if (comesLater(is, before, old)) steps.push({ kind: "remove", old: old++ });
    else steps.push({ kind: "keep", old: old++, now: now++ });
  }
  while (old < before.length) steps.push({ kind: "remove", old: old++ });
  while (now < after.length) steps.push({ kind: "add", at: old, now: now++ });
  return steps;
}

/** Containers, variables and volumes have a name. Other items are shared by reference unless they changed. */
function belongTogether(was: Json | undefined, is: Json | undefined): boolean {
  if (was === is) return true;
  if (!isObject(was) || !isObject(is)) return false;
  const name = textAt(was, "name");
  return name !== undefined && name === textAt(is, "name");
}

function comesLater(item: Json | undefined, list: readonly Json[], after: number): boolean {
  return list.some((other, index) => index > after && belongTogether(item, other));
}
