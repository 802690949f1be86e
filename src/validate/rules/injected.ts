// Mutating fails open, so that an outage of reprise never keeps a training job from running. Refusing the JobSet here would
// take that back: the user is told instead, and the controller reports it as well.
import { judged, notApplicable, type Rule } from "../rule.ts";

export const injected: Rule = {
  name: "injected",
  describe:
    "A JobSet that opted in has its agents; where the mutating webhook could not be asked, it runs without them.",
  severity: "warning",
  scope: "opted-in",
  check({ isInjected, refusals }) {
    if (refusals.length > 0) return notApplicable("injection refuses this JobSet");
    const message =
      "opted in but not injected: the mutating webhook was not asked or did not answer in time; it runs as a plain " +
      "JobSet, delete and create it again to have it restart in place";
    return judged(isInjected ? [] : [{ path: "spec.replicatedJobs", message }], "the agents are there");
  },
};
