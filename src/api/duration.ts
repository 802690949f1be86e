// Durations in Kubernetes notation ("30s", "5m", "1h30m"). Pure. Never guesses a missing unit.

/** A span of time in milliseconds. */
export type Milliseconds = number;

const UNITS: Readonly<Record<string, Milliseconds>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

const PART = /^(\d+(?:\.\d+)?)(ms|s|m|h)/;

/** A valid duration, for error messages. */
export const DURATION_FORM = 'a duration such as "30s", "5m" or "1h30m"';

/** Returns undefined for text that is not a duration. */
export function parseDuration(text: string): Milliseconds | undefined {
  let rest = text;
  let total = 0;
  let smallest = Number.POSITIVE_INFINITY;
  while (rest !== "") {
    const [matched, amount, unit] = PART.exec(rest) ?? [];
    const size = UNITS[unit ?? ""];
    // Units come largest first and once each: "1m30m" is a typing error, not 31 minutes.
    if (matched === undefined || size === undefined || size >= smallest) return undefined;
    total += Number(amount) * size;
    smallest = size;
    rest = rest.slice(matched.length);
  }
  return text === "" || !Number.isSafeInteger(Math.round(total)) ? undefined : Math.round(total);
}

/** The shortest exact notation of a duration: 90000 is "1m30s". */
export function formatDuration(span: Milliseconds): string {
  let rest = Math.round(span);
  let text = "";
  for (const unit of ["h", "m", "s", "ms"]) {
    const size = UNITS[unit] ?? 1;
    const count = Math.floor(rest / size);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * size;
  }
  return text === "" ? "0s" : text;
}
