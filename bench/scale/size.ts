// The sizes that are measured, and how they are written.

export interface Size {
  readonly groups: number;
  /** In each group. */
  readonly pods: number;
}

export const SIZES: readonly Size[] = [
  { groups: 1, pods: 100 },
  { groups: 1, pods: 500 },
  { groups: 1, pods: 2_000 },
  { groups: 1, pods: 5_000 },
  { groups: 100, pods: 20 },
];

/** Such as "500 Pods" or "100 x 20 Pods". */
export function titleOf({ groups, pods }: Size): string {
  return groups === 1 ? `${pods.toLocaleString("en-US")} Pods` : `${groups} x ${pods} Pods`;
}

/** "500" is one group, "100x20" are a hundred groups. */
export function parseSize(text: string): Size {
  const [, groups = "1", pods] = /^(?:(\d+)x)?(\d+)$/.exec(text) ?? [];
  if (pods === undefined) throw new Error(`--pods ${text}: use a number such as 500, or groups such as 100x20`);
  return { groups: Number(groups), pods: Number(pods) };
}
