// What the tests of other webhooks look at.
import { expect } from "vitest";
import { asList, asMap } from "../../src/json/fields.ts";
import type { Kubectl } from "../cluster/kubectl.ts";
import { type GroupState, kill, type PodState, podAt, type TrainingGroup, uids } from "../e2e/group.ts";

export const BUSYBOX = "local/busybox:1";

export const firstOf = (state: GroupState): PodState => podAt(state, 0);

/** The spec of a Pod as it is stored, after every webhook. */
export async function podSpec(
  kubectl: Kubectl,
  namespace: string,
  pod: PodState,
): Promise<Readonly<Record<string, unknown>>> {
  const raw = await kubectl(["-n", namespace, "get", "pod", pod.name, "-o", "json"]);
  return asMap(asMap(JSON.parse(raw))["spec"]);
}

export const namesIn = (containers: unknown): readonly unknown[] =>
  asList(containers).map((each) => asMap(each)["name"]);

/** Kills a worker, and waits for the restart in place. */
export async function restart(group: TrainingGroup): Promise<GroupState> {
  const before = await group.running();
  kill(firstOf(before).worker);
  const after = await group.restarted(before.syncedEpoch + 1);
  expect(uids(after)).toEqual(uids(before));
  expect(after.restarts).toBe(before.restarts + 1);
  return after;
}
