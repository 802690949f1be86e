// Collects the user's values that injection replaces. Each kind of field gives one warning, even if ten thousand
// replicatedJobs have it.
import type { Finding } from "../api/admission.ts";
import { brief } from "../json/brief.ts";
import type { Json } from "../json/types.ts";

interface Overwrite {
  readonly first: Finding;
  others: number;
}

export class Overwrites {
  readonly #byField = new Map<string, Overwrite>();

  /** `field` is the kind of field, `path` this occurrence of it. `reason` completes "because ...". */
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
