// Writes the request of `reprise restart` to the JobSet, and waits until a restart has answered it.
import { setTimeout as sleep } from "node:timers/promises";
import {
  IN_PLACE_RESTART,
  type InPlaceRestart,
  type InPlaceRestartStatus,
  readInPlaceRestart,
} from "../../api/in-place-restart.ts";
import { type JobSet, readJobSet } from "../../api/jobset.ts";
import { ANNOTATION, JOBSET } from "../../api/names.ts";
import { isRestartRequest, REQUEST_FORM } from "../../api/restart-request.ts";
import { RepriseError } from "../../errors.ts";
import { asMap, asText } from "../../json/fields.ts";
import { type KubeClient, MERGE_PATCH } from "../../kube/client.ts";
import { requestText } from "../output/restart-text.ts";
import { collectionPath, orAbsent } from "./cluster-path.ts";
import { withoutGroup } from "./without-group.ts";

interface Name {
  readonly namespace: string;
  readonly name: string;
}

/** A restart takes seconds. */
const POLL_MS = 300;

/** Returns the request as it was written. */
export async function requestRestart(client: KubeClient, of: Name, reason: string, now: number): Promise<string> {
  const { jobSet } = await readGroup(client, of);
  checkRestartable(of, jobSet);
  const request = requestText(reason, await userName(client), now);
  if (reason.trim() === "" || !isRestartRequest(request))
    throw new RepriseError("RESTART_REASON_INVALID", { form: REQUEST_FORM, added: request.length - reason.length });
  await client.request("PATCH", jobSetPath(of), {
    // The UID keeps the request from a JobSet that was created again under the same name.
    body: { metadata: { uid: jobSet.uid, annotations: { [ANNOTATION.restartRequest]: request } } },
    contentType: MERGE_PATCH,
    query: { fieldManager: "reprise-restart" },
  });
  return request;
}

/** The status when the request is answered and every worker runs. */
export async function restartDone(
  client: KubeClient,
  of: Name,
  request: string,
  timeoutMs: number,
): Promise<InPlaceRestartStatus> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const { jobSet, object } = await readGroup(client, of);
    checkRestartable(of, jobSet);
    const { status } = object;
    if (status?.handledRequests?.includes(request) === true && status.phase === "Running") return status;
    if (Date.now() > deadline)
      throw new RepriseError("RESTART_TIMED_OUT", { ...of, phase: status?.phase ?? "unknown" });
    await sleep(POLL_MS);
  }
}

async function readGroup(client: KubeClient, of: Name): Promise<{ jobSet: JobSet; object: InPlaceRestart }> {
  const raw = await orAbsent(client.request("GET", jobSetPath(of)));
  if (raw === undefined) throw new RepriseError("JOBSET_NOT_FOUND", of);
  const jobSet = readJobSet(raw);
  const own = await orAbsent(client.request("GET", `${collectionPath(IN_PLACE_RESTART, of.namespace)}/${of.name}`));
  const object = own === undefined ? undefined : readInPlaceRestart(own);
  if (object?.jobSetUID !== jobSet.uid) throw withoutGroup(jobSet);
  return { jobSet, object };
}

function checkRestartable(of: Name, { outcome, suspended }: JobSet): void {
  if (outcome !== "none") throw new RepriseError("RESTART_OF_FINISHED", { ...of, outcome });
  if (suspended) throw new RepriseError("RESTART_OF_SUSPENDED", of);
}

/** As the API server knows the user; every authenticated account may ask. */
async function userName(client: KubeClient): Promise<string> {
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const review = await client.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", { body });
  return asText(asMap(asMap(review["status"])["userInfo"])["username"]) ?? "unknown user";
}

function jobSetPath({ namespace, name }: Name): string {
  return `${collectionPath(JOBSET, namespace)}/${name}`;
}
