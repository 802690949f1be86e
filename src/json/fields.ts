// Reads single fields of raw Kubernetes JSON. Pure. A missing, null or wrong-typed field reads as absent and never
// throws: one malformed object must not stop the handling of all others.

export type Fields = Readonly<Record<string, unknown>>;

const NONE: Fields = Object.freeze({});

/** The value as a map. Anything else reads as an empty map. */
export function asMap(value: unknown): Fields {
  return isMap(value) ? value : NONE;
}

/** The value as a list. Kubernetes writes an empty list as null or omits it. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function asText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** An integer that a float represents exactly, such as a count or an exit code. */
export function asInteger(value: unknown): number | undefined {
  return Number.isSafeInteger(value) ? Number(value) : undefined;
}

/** A count in a spec or status. Never negative. */
export function asCount(value: unknown): number | undefined {
  const number = asInteger(value);
  return number !== undefined && number >= 0 ? number : undefined;
}

/** An index that a controller wrote into a label. */
export function asIndex(label: string | undefined): number | undefined {
  return label !== undefined && /^\d{1,9}$/.test(label) ? Number(label) : undefined;
}

/** Labels or annotations. Entries whose value is not text are dropped. */
export function asTextMap(value: unknown): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const [key, item] of Object.entries(asMap(value))) {
    if (typeof item === "string") texts[key] = item;
  }
  return texts;
}

function isMap(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
