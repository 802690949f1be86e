// What `reprise status` says about the container that a restart is blamed on: its last words, and where its log is.
// After a restart in place `kubectl logs --previous` finds no container, but the kubelet keeps the file. Pure.
import type { RestartCause, RestartRecord } from "../../api/in-place-restart.ts";
import type { Pod } from "../../api/pod.ts";

export interface CrashReport {
  readonly pod: string;
  readonly container: string;
  readonly lastWords?: string;
  /** The folder of its logs. Absent if the Pod is gone, and its logs with it. */
  readonly log?: { readonly node: string; readonly folder: string };
}

export function crashReport({ cause }: RestartRecord, pods: readonly Pod[]): CrashReport | undefined {
  const name = cause.pod ?? cause.candidates?.[0];
  const { container, message } = cause;
  if (name === undefined || container === undefined) return undefined;
  const log = logOf(
    pods.find((pod) => pod.name === name),
    container,
  );
  return {
    pod: name,
    container,
    ...(message === undefined ? {} : { lastWords: message }),
    ...(log === undefined ? {} : { log }),
  };
}

function logOf(pod: Pod | undefined, container: NonNullable<RestartCause["container"]>): CrashReport["log"] {
  if (pod?.node === undefined) return undefined;
  return { node: pod.node, folder: `/var/log/pods/${pod.namespace}_${pod.name}_${pod.uid}/${container}` };
}

/** One line for each part that is known. */
export function crashLines({ pod, container, lastWords, log }: CrashReport): readonly string[] {
  if (lastWords === undefined && log === undefined) return [];
  return [
    `container ${container} of Pod ${pod}${lastWords === undefined ? "" : `: ${lastWords}`}`,
    ...(log === undefined
      ? []
      : [`log on node ${log.node}: ${log.folder}/ (one file per run; the newest is that of the current run)`]),
  ];
}
