// A worker leaves so much in shared memory that no later run of its Pod finds room.
import { always, type FaultDefinition, victim } from "./fault.ts";

export const fillSharedMemory: FaultDefinition = {
  text: "a worker fills the shared memory of its Pod and fails, and so do its later runs",
  byRequest: false,
  mayCount: always,
  lasts: true,
  strike: (cluster) => victim(cluster, ({ hasWorker }) => hasWorker)?.fillSharedMemory(),
};
