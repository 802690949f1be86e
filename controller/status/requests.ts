// Requests for a restart by hand, and those that were carried out. Pure.
import type { InPlaceRestartStatus } from "../../src/api/in-place-restart.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import { HANDLED_REQUESTS_LIMIT, requestedRestart } from "../../src/api/restart-request.ts";

type Status = InPlaceRestartStatus;

/** The request that no restart has answered yet. */
export function unhandledRequest({ annotations }: JobSet, { handledRequests = [] }: Status): string | undefined {
  const request = requestedRestart(annotations);
  return request === undefined || handledRequests.includes(request) ? undefined : request;
}

/** Several are kept: a GitOps tool may apply an older value again after a newer one was set by hand. */
export function withHandledRequest(status: Status, request: string): Status {
  return { ...status, handledRequests: [...(status.handledRequests ?? []), request].slice(-HANDLED_REQUESTS_LIMIT) };
}
