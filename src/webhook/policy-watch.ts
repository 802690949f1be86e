// Tracks the failure policies of namespaces by watching the ConfigMaps of that one name. Requests are answered from
// memory: a webhook that calls the API server while the API server waits for it could use up its request slots.
import { ANNOTATION, FAILURE_POLICIES_CONFIG_MAP } from "../api/names.ts";
import { reasonOf } from "../errors.ts";
import { objectAt, textAt } from "../json/edit.ts";
import { type CollectionReader, Reflector } from "../kube/reflector.ts";
import { readPolicyTexts } from "../policy/config-map.ts";
import type { NamespacePolicies } from "../policy/lookup.ts";
import type { Logger } from "../telemetry/log.ts";
import { CatchUp, startWatch } from "./catch-up.ts";
import type { AdmissionRequest } from "./review.ts";

const NONE: ReadonlyMap<string, string> = new Map();

export interface PolicyWatchOptions {
  readonly client: CollectionReader;
  readonly log: Logger;
  /** Policies of the config file, which need no ConfigMap. */
  readonly configured: { has(name: string): boolean };
}

export class PolicyWatch {
  readonly #reflector: Reflector<ReadonlyMap<string, string>>;
  readonly #configured: PolicyWatchOptions["configured"];
  readonly #catchUp = new CatchUp();
  #lastProblem = "the first list has not finished";

  constructor({ client, log, configured }: PolicyWatchOptions) {
    this.#configured = configured;
    this.#reflector = new Reflector({
      client,
      path: "/api/v1/configmaps",
      // With this name in the ClusterRole, RBAC allows nothing else.
      fieldSelector: `metadata.name=${FAILURE_POLICIES_CONFIG_MAP}`,
      project: readPolicyTexts,
      onChange: () => this.#catchUp.wake(),
      onError: (error, stage) => {
        this.#lastProblem = reasonOf(error);
        log.warn({ watched: "failure policies", stage, err: error }, "watch interrupted");
      },
    });
    void this.#reflector.whenSynced().then(() => this.#catchUp.wake());
  }

  async start(): Promise<void> {
    await startWatch(this.#reflector);
  }

  async stop(): Promise<void> {
    await this.#reflector.stop();
  }

  readonly policiesOf = (namespace: string): NamespacePolicies => {
    if (!this.#reflector.synced) {
      const reason =
        `the webhook has not read the policies of namespaces yet (${this.#lastProblem}); retry, and if this persists ` +
        "check the log and the permissions of reprise-webhook";
      return { kind: "unavailable", reason };
    }
    const texts = this.#reflector.get(`${namespace}/${FAILURE_POLICIES_CONFIG_MAP}`) ?? NONE;
    return { kind: "known", texts };
  };

  /** What a request must wait for, if it names a policy that is not known yet. */
  readonly pending = ({ operation, namespace, object }: AdmissionRequest): Promise<void> | undefined => {
    const name = textAt(objectAt(objectAt(object, "metadata"), "annotations"), ANNOTATION.failurePolicy);
    if (operation !== "CREATE" || name === undefined) return undefined;
    return this.#catchUp.until(() => this.#knows(namespace, name));
  };

  #knows(namespace: string, name: string): boolean {
    const policies = this.policiesOf(namespace);
    return policies.kind === "known" && (policies.texts.has(name) || this.#configured.has(name));
  }
}
