// Why a JobSet has no InPlaceRestart of its own.
import { type JobSet, runsHere } from "../../api/jobset.ts";
import { LABEL } from "../../api/names.ts";
import { protocolOf } from "../../api/protocol.ts";
import { RepriseError } from "../../errors.ts";

export function withoutGroup(jobSet: JobSet): RepriseError {
  const { namespace, name, managedBy = "", labels } = jobSet;
  if (!runsHere(jobSet)) return new RepriseError("JOBSET_IN_OTHER_CLUSTER", { namespace, name, managedBy });
  const injected = labels[LABEL.injected] === "true";
  const upstream = protocolOf(jobSet) === "jobset";
  return new RepriseError("JOBSET_WITHOUT_GROUP", { namespace, name, injected, upstream });
}
