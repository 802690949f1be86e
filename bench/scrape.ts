// Reads counters from Prometheus text, and their growth between two readings.

/** Value by series, written as in the text: name{label="value",...}. */
export type Samples = ReadonlyMap<string, number>;

/** Only the lines whose series begins with one of the names. */
export function parsePage(page: string, ...names: readonly string[]): Samples {
  const samples = new Map<string, number>();
  for (const line of page.split("\n")) {
    if (!names.some((name) => line.startsWith(name))) continue;
    const end = line.lastIndexOf(" ");
    samples.set(line.slice(0, end), Number(line.slice(end + 1)));
  }
  return samples;
}

export function difference(before: Samples, after: Samples): Samples {
  return new Map([...after].map(([series, value]) => [series, value - (before.get(series) ?? 0)]));
}

/** The sum of all series with this name and all of these labels. */
export function total(samples: Samples, name: string, labels: Readonly<Record<string, string>>): number {
  const wanted = Object.entries(labels).map(([key, value]) => `${key}="${value}"`);
  let sum = 0;
  for (const [series, value] of samples) {
    if (series.startsWith(`${name}{`) && wanted.every((label) => series.includes(label))) sum += value;
  }
  return sum;
}
