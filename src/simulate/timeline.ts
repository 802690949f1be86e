// The timeline of a simulated run, as data and as text.

export interface Moment {
  /** Milliseconds since the start. */
  readonly at: number;
  readonly actor: string;
  readonly what: string;
}

export function timelineLines(moments: readonly Moment[]): readonly string[] {
  const width = moments.reduce((longest, { actor }) => Math.max(longest, actor.length), 0);
  return moments.map(
    ({ at, actor, what }) => `${(at / 1_000).toFixed(3).padStart(9)} s  ${actor.padEnd(width)}  ${what}`,
  );
}
