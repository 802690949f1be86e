// Lets the agents of a JobSet in: RoleBindings for the service accounts of its Pods, owned by what the agents follow: they end with
// the JobSet, and when reprise is removed with its objects, no RoleBinding to a role that is gone stays behind. Workers share
// the account, so it must gain nothing by them, which the policies in manifests/agent see to, and lose nothing: an account that may
// patch Pods already gets no right to it from here, and stays out of the policy that narrows that right.
import { createHash } from "node:crypto";
import { hasAgent } from "../../src/api/agent-container.ts";
import { IN_PLACE_RESTART, type InPlaceRestart } from "../../src/api/in-place-restart.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import { protocolOf } from "../../src/api/protocol.ts";
import { asMap, asText } from "../../src/json/fields.ts";
import { hasStatus } from "../../src/kube/api-error.ts";
import { type OwnerReference, ownedBy, ownedByObject, type WritingClient } from "./fenced-writes.ts";

/** The roles of manifests/agent. Readers by what the agent follows. */
const ROLE = {
  reader: "reprise-agent-reader",
  jobSetReader: "reprise-agent-jobset-reader",
  writer: "reprise-agent-writer",
} as const;

/**
 * How long the RoleBindings are trusted to be there and to suffice. Somebody may delete one, or take from an account the right of its
 * own; watching every RoleBinding of the cluster for that would show the controller more than it needs to know.
 */
const TRUST_MS = 5 * 60_000;

export class AgentAccess {
  readonly #client: WritingClient;
  readonly #now: () => number;
  /** For whom there is access (the UID of the owner), and when that was last certain; by the key of the group. */
  readonly #known = new Map<string, { readonly uid: string; readonly at: number }>();

  constructor(client: WritingClient, now: () => number) {
    this.#client = client;
    this.#now = now;
  }

  /** Returns when to look again, in milliseconds from now. Without the group's object there is nothing to let agents in to yet. */
  async ensure(
    key: string,
    jobSet: JobSet,
    object: InPlaceRestart | undefined,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    if (jobSet.outcome !== "none" || jobSet.deletionTimestamp !== undefined) return undefined;
    const keepsOwnAttempts = protocolOf(jobSet) === "jobset";
    const owner = keepsOwnAttempts
      ? ownedBy(jobSet)
      : object?.jobSetUID === jobSet.uid
        ? ownedByObject(object)
        : undefined;
    if (owner === undefined) return undefined;
    const known = this.#known.get(key);
    const trusted = known?.uid === owner.uid ? known.at + TRUST_MS - this.#now() : 0;
    if (trusted > 0) return trusted;
    const accounts = agentAccounts(jobSet);
    const dependent = await this.#withoutOwnRight(jobSet.namespace, accounts, signal);
    await this.#bind(jobSet, owner, "read", keepsOwnAttempts ? ROLE.jobSetReader : ROLE.reader, accounts, signal);
    // One each: which accounts need it may change.
    for (const account of dependent)
      await this.#bind(jobSet, owner, `write-${account}`, ROLE.writer, [account], signal);
    this.#known.set(key, { uid: owner.uid, at: this.#now() });
    return TRUST_MS;
  }

  /** The JobSet is gone, and its RoleBindings go with it. */
  forget(key: string): void {
    this.#known.delete(key);
  }

  /** The accounts that cannot patch Pods, or can only because another JobSet's agents need it. */
  async #withoutOwnRight(
    namespace: string,
    accounts: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const dependent: string[] = [];
    for (const account of accounts) if (!(await this.#hasOwnRight(namespace, account, signal))) dependent.push(account);
    return dependent;
  }

  /**
   * Only agents are let in to `join`, so who may patch Pods and not join has the right from elsewhere. Asked before and after: a
   * RoleBinding that comes or goes between two questions would look like such a right, and its agents would be left without one.
   */
  async #hasOwnRight(namespace: string, account: string, signal: AbortSignal): Promise<boolean> {
    const may = (attributes: Readonly<Record<string, string>>) => this.#may(namespace, account, attributes, signal);
    const { group, plural: resource } = IN_PLACE_RESTART;
    const joins = () => may({ verb: "join", group, resource });
    return !(await joins()) && (await may({ verb: "patch", group: "", resource: "pods" })) && !(await joins());
  }

  async #may(
    namespace: string,
    account: string,
    attributes: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<boolean> {
    const spec = {
      user: `system:serviceaccount:${namespace}:${account}`,
      groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
      resourceAttributes: { namespace, ...attributes },
    };
    const body = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
    const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    const answer = await this.#client.request("POST", path, { body, signal });
    return asMap(answer["status"])["allowed"] === true;
  }

  async #bind(
    jobSet: JobSet,
    owner: OwnerReference,
    purpose: string,
    role: string,
    accounts: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    if (accounts.length === 0) return;
    const { namespace, name } = jobSet;
    const body = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name: bindingName(purpose, name, owner.uid), ownerReferences: [owner] },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
      subjects: accounts.map((account) => ({ kind: "ServiceAccount", name: account, namespace })),
    };
    const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`;
    try {
      await this.#client.request("POST", path, { body, signal });
    } catch (error) {
      // It is there already.
      if (!hasStatus(error, 409)) throw error;
    }
  }
}

/** Names of objects are no longer. That of a service account alone may be as long. */
const MAX_NAME = 253;

/** With part of the owner's UID, so that one made anew never relies on what is collected with its predecessor. */
export function bindingName(purpose: string, jobSet: string, ownerUid: string): string {
  const [prefix, what, suffix] = ["reprise-agent-", `${purpose}-${jobSet}`, `-${ownerUid.slice(0, 8)}`];
  const room = MAX_NAME - prefix.length - suffix.length;
  if (what.length <= room) return `${prefix}${what}${suffix}`;
  // 64 bits: the few accounts of a JobSet never share one.
  const hash = createHash("sha256").update(what).digest("hex").slice(0, 16);
  return `${prefix}${what.slice(0, room - 1 - hash.length)}-${hash}${suffix}`;
}

/** The service accounts of the Pods that have an agent. */
function agentAccounts(jobSet: JobSet): readonly string[] {
  const accounts = jobSet.replicatedJobs.flatMap(({ template }) => {
    const podSpec = asMap(asMap(asMap(template["spec"])["template"])["spec"]);
    if (!hasAgent(podSpec)) return [];
    // The second is the old name of the field, which the API still takes; without either, Pods get this account.
    return [asText(podSpec["serviceAccountName"]) || asText(podSpec["serviceAccount"]) || "default"];
  });
  return [...new Set(accounts)].sort();
}
