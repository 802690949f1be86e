// Reads single fields of raw Kubernetes JSON. Pure; a missing, null or wrong-typed field reads as absent and never throws,
// because an object that one writer malformed must not stop the handling of all others.

export type Fields = Readonly<Record<string, unknown>>;

const NONE: Fields = Object.freeze({});

/** The value as a map; anything else is an empty one. */
export function asMap(value: unknown): Fields {
  return isMap(value) ? value : NONE;
}

/** The value as a list; Kubernetes writes an empty list as null or leaves it out. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function asText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** A whole number that a float represents exactly; counts and exit codes are nothing else. */
export function asInteger(value: unknown): number | undefined {
  return Number.isSafeInteger(value) ? Number(value) : undefined;
}

/** A count in a spec or status: never negative. */
export function asCount(value: unknown): number | undefined {
  const number = asInteger(value);
  return number !== undefined && number >= 0 ? number : undefined;
}

/** An index that a controller wrote into a label. */
export function asIndex(label: string | undefined): number | undefined {
  return label !== undefined && /^\d{1,9}$/.test(label) ? Number(label) : undefined;
}

/** Labels and annotations: only entries whose value is text. */
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
