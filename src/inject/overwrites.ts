// Collects the values a user wrote that injection has to replace, and says each once. Ten thousand replicatedJobs with the
// same field make one warning, not ten thousand.
import type { Finding } from "../api/admission.ts";
import type { Json } from "../json/types.ts";

interface Overwrite {
  readonly first: Finding;
  others: number;
}

export class Overwrites {
  readonly #byField = new Map<string, Overwrite>();

  /** `field` names the kind of field, `path` the one place; `reason` completes "because ...". */
  note(field: string, path: string, written: Json, used: Json, reason: string): void {
    const known = this.#byField.get(field);
    if (known !== undefined) known.others++;
    else {
      const message = `${brief(written)} was replaced by ${brief(used)} because ${reason}`;
      this.#byField.set(field, { first: { rule: "overwritten-field", path, message }, others: 0 });
    }
  }

  warnings(): Finding[] {
    return [...this.#byField.values()].map(({ first, others }) =>
      others === 0 ? first : { ...first, message: `${first.message} (and ${others} more like it)` },
    );
  }
}

/** Never the whole of a value that may be megabytes or endlessly nested. */
function brief(value: Json): string {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" && value !== null ? "a map" : String(value);
}
