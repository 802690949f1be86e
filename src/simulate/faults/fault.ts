// What a kind of fault is. Each kind has its own file here, or shares one with its variants.
import type { Cluster } from "../cluster.ts";
import type { PodOnNode } from "../kubelet.ts";

export interface FaultDefinition {
  /** For help texts. */
  readonly text: string;
  /** Happens through the API server, so it is postponed while the server is down. */
  readonly byRequest: boolean;
  /** Whether one counted restart may follow, given all faults of the run. Others must not use up the budget. */
  readonly mayCount: (struck: ReadonlySet<string>) => boolean;
  /** It fails workers again and again. */
  readonly lasts?: boolean;
  strike(cluster: Cluster): void;
}

export const always = () => true;
export const never = () => false;

/** How soon a request is repeated when the API server is down. */
export const RETRY_MS = 1_000;

/** A random Pod that has containers. */
export function victim({ world, nodes }: Cluster, suits: (pod: PodOnNode) => boolean): PodOnNode | undefined {
  return world.random.pick(nodes.pods.filter(suits));
}
