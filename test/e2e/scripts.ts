// Shell scripts of workers that behave like ranks of a distributed trainer. Pure.

/** Where workers see the folder that Pods of all nodes share. */
export const SHARED_MOUNT_PATH = "/shared";

/** Waits without using CPU, and ends at once on SIGTERM. */
export const REST = "{ sleep 1000000 & wait; }";

/** Runs the commands in order. The worker exits with 143 on SIGTERM. */
export function script(...commands: readonly string[]): string {
  return ["trap 'exit 143' TERM", ...commands].join("; ");
}

/**
 * Sets `$RUN` to how often this worker was started, in every Pod that had its rank. Each start of a group starts every
 * worker, so all of them have the same number. `folder` must survive a restart.
 */
export function countRuns(folder: string, rank = "$HOSTNAME"): string {
  const file = `${folder}/.runs-${rank}`;
  return `RUN=$(($(cat ${file} 2>/dev/null || echo 0) + 1)); echo $RUN > ${file}`;
}

/** Waits until the test creates this file in the shared folder. */
export function untilTold(file: string): string {
  return `until [ -e ${SHARED_MOUNT_PATH}/${file} ]; do sleep 0.1; done`;
}

/**
 * Connects to each of these peers, and then runs the commands. Its pipes close with the process, so its peers see its
 * end within milliseconds, as the end of a TCP connection. In a run without pipes it only rests.
 */
export function connected(peers: readonly string[], ...commands: readonly string[]): string {
  // `exec` waits until each peer has opened its end.
  const links = peers.map((peer, index) => `${index + 3}>${LINKS}/${peer}`).join(" ");
  return script(...IF_LINKED, `exec ${links}`, ...commands);
}

/** Exits with 1 when the worker that is connected to it ends. */
export function dependent(peer: string): string {
  return script(...IF_LINKED, `read -r line <${LINKS}/${peer}`, "exit 1");
}

const COUNT_RUNS = countRuns(SHARED_MOUNT_PATH);
const LINKS = `${SHARED_MOUNT_PATH}/$RUN`;
const IF_LINKED = [COUNT_RUNS, `[ -e ${LINKS} ] || ${REST}`];

/**
 * Saves a checkpoint together with its peers when one of them gets SIGTERM, and then exits with 143 if it was itself.
 * A checkpoint is complete only if every rank was alive until its end: `checkpoint-RUN-RANK` in the shared folder.
 */
export function savesTogether(rank: string, ranks: number, saveSeconds: number): string {
  const file = (name: string, of: string) => `${SHARED_MOUNT_PATH}/${name}-$RUN-${of}`;
  const requested = `${SHARED_MOUNT_PATH}/request-$RUN`;
  const allSaved = Array.from({ length: ranks }, (_, each) => `[ -e ${file("saved", String(each))} ]`).join(" && ");
  return `
    ${COUNT_RUNS}
    save() {
      sleep ${saveSeconds}
      : > ${file("saved", rank)}
      for try in ${"1 ".repeat(50)}; do
        if ${allSaved}; then : > ${file("checkpoint", rank)}; return; fi
        sleep 0.2
      done
    }
    told=no saved=no
    trap 'told=yes; : > ${requested}' TERM
    while :; do
      if [ $saved = no ] && [ -e ${requested} ]; then save; saved=yes; fi
      [ $told = no ] || exit 143
      sleep 0.4
    done`;
}

/** Saves for this long on SIGTERM, and leaves `saved-RUN-INDEX` in the shared folder only if it was let finish. */
export function savesOnTerm(saveSeconds: number): string {
  const saved = `${SHARED_MOUNT_PATH}/saved-$RUN-$JOB_COMPLETION_INDEX`;
  return `${COUNT_RUNS}; trap 'sleep ${saveSeconds}; : > ${saved}; exit 143' TERM; while :; do sleep 0.4; done`;
}
