// Grants agents access: RoleBindings for the service accounts of a JobSet's Pods. The object that the agents follow
// owns them, so they are garbage-collected with the JobSet and when reprise is uninstalled. Workers share the service
// account. The policies in manifests/agent keep it from gaining rights. It must not lose any either: an account that
// may already patch Pods gets no write binding, so the policy never narrows its own right.
import { createHash } from "node:crypto";
import { hasAgent } from "../../src/api/agent-container.ts";
import { IN_PLACE_RESTART, type InPlaceRestart } from "../../src/api/in-place-restart.ts";
import type { JobSet } from "../../src/api/jobset.ts";
import { protocolOf } from "../../src/api/protocol.ts";
import { asMap, asText } from "../../src/json/fields.ts";
import { hasStatus } from "../../src/kube/api-error.ts";
import { type OwnerReference, ownedBy, ownedByObject, type WritingClient } from "./fenced-writes.ts";

/** The roles in manifests/agent. The reader role depends on the object that the agent follows. */
const ROLE = {
  reader: "reprise-agent-reader",
  jobSetReader: "reprise-agent-jobset-reader",
  writer: "reprise-agent-writer",
} as const;

/**
 * How long RoleBindings are assumed to exist and to suffice. A user may delete one, or revoke an account's own right.
 * Watching all RoleBindings instead would show the controller more than it needs to know.
 */
const TRUST_MS = 5 * 60_000;

export class AgentAccess {
  readonly #client: WritingClient;
  readonly #now: () => number;
  /** By the key of the group: the UID of the owner that has access, and when that was last verified. */
  readonly #known = new Map<string, { readonly uid: string; readonly at: number }>();

  constructor(client: WritingClient, now: () => number) {
    this.#client = client;
    this.#now = now;
  }

  /**
   * Returns the delay to the next check in milliseconds. Grants nothing before the object that agents follow exists.
   */
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
    // One binding per account: the set of accounts that need one may change.
    for (const account of dependent)
      await this.#bind(jobSet, owner, `write-${account}`, ROLE.writer, [account], signal);
    this.#known.set(key, { uid: owner.uid, at: this.#now() });
    return TRUST_MS;
  }

  /** The JobSet is gone; its RoleBindings are garbage-collected. */
  forget(key: string): void {
    this.#known.delete(key);
  }

  /** The accounts that cannot patch Pods, or can only because of another JobSet's agents. */
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
   * Only agents may `join`, so an account that may patch Pods but not join has the right from elsewhere. `join` is
   * checked before and after: a binding created or deleted in between would look like such a right, and agents would
   * lose access.
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
      // It already exists.
      if (!hasStatus(error, 409)) throw error;
    }
  }
}

/** The limit of an object name, which the name of a service account alone may reach. */
const MAX_NAME = 253;

/** Includes part of the owner's UID, so a recreated owner never relies on a binding that is about to be collected. */
export function bindingName(purpose: string, jobSet: string, ownerUid: string): string {
  const [prefix, what, suffix] = ["reprise-agent-", `${purpose}-${jobSet}`, `-${ownerUid.slice(0, 8)}`];
  const room = MAX_NAME - prefix.length - suffix.length;
  if (what.length <= room) return `${prefix}${what}${suffix}`;
  // 64 bits are enough to tell the few accounts of a JobSet apart.
  const hash = createHash("sha256").update(what).digest("hex").slice(0, 16);
  return `${prefix}${what.slice(0, room - 1 - hash.length)}-${hash}${suffix}`;
}

/** The service accounts of the Pods that have an agent. */
function agentAccounts(jobSet: JobSet): readonly string[] {
  const accounts = jobSet.replicatedJobs.flatMap(({ template }) => {
    const podSpec = asMap(asMap(asMap(template["spec"])["template"])["spec"]);
    if (!hasAgent(podSpec)) return [];
    // `serviceAccount` is the deprecated name of the field. Without either, Pods use the default account.
    return [asText(podSpec["serviceAccountName"]) || asText(podSpec["serviceAccount"]) || "default"];
  });
  return [...new Set(accounts)].sort();
}
