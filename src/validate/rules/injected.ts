// The mutating webhook fails open, so that an outage of reprise never blocks a training job. Rejecting the JobSet here
// would defeat that. The user gets a warning instead, and the controller reports the JobSet as well.
import { judged, notApplicable, type Rule } from "../rule.ts";

export const injected: Rule = {
  name: "injected",
  describe:
    "A JobSet that opted in has its agents. If the API server could not call the mutating webhook, it runs without " +
    "them.",
  severity: "warning",
  scope: "opted-in",
  check({ isInjected, injectionErrors }) {
    if (injectionErrors.length > 0) return notApplicable("injection rejects this JobSet");
    const message =
      "opted in but not injected: the mutating webhook was not called or did not answer in time; it runs as a plain " +
      "JobSet, delete it and create it again to enable restarts in place";
    return judged(isInjected ? [] : [{ path: "spec.replicatedJobs", message }], "every participating Pod has an agent");
  },
};
