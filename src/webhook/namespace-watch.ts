// Tracks reprise.dev/max-restarts of Namespaces by watching them. As with policies, requests are answered from memory,
// which holds the names of the Namespaces and this one annotation.
import { annotatedMaxRestarts } from "../api/budget.ts";
import { type NamespaceLimit, readNamespaceLimit } from "../api/namespace.ts";
import { reasonOf } from "../errors.ts";
import { objectAt } from "../json/edit.ts";
import { type CollectionReader, Reflector } from "../kube/reflector.ts";
import type { Logger } from "../telemetry/log.ts";
import { CatchUp, startWatch } from "./catch-up.ts";
import type { AdmissionRequest } from "./review.ts";

export class NamespaceWatch {
  readonly #reflector: Reflector<NamespaceLimit>;
  readonly #catchUp = new CatchUp();
  #lastProblem = "the first list has not finished";

  constructor({ client, log }: { readonly client: CollectionReader; readonly log: Logger }) {
    this.#reflector = new Reflector({
      client,
      path: "/api/v1/namespaces",
      project: readNamespaceLimit,
      onChange: () => this.#catchUp.wake(),
      onError: (error, stage) => {
        this.#lastProblem = reasonOf(error);
        log.warn({ watched: "namespaces", stage, err: error }, "watch interrupted");
      },
    });
  }

  async start(): Promise<void> {
    await startWatch(this.#reflector);
  }

  async stop(): Promise<void> {
    await this.#reflector.stop();
  }

  /** Every JobSet is in a Namespace that exists, so one that is missing has not been seen yet. */
  readonly limitOf = (namespace: string): NamespaceLimit => {
    const limit = this.#reflector.get(namespace);
    if (limit !== undefined) return limit;
    const reason = this.#reflector.synced ? "the watch has not shown it yet" : this.#lastProblem;
    return { kind: "unavailable", reason };
  };

  /** What a new JobSet must wait for, if its Namespace is not known yet and decides about its budget. */
  readonly pending = ({ operation, namespace, object }: AdmissionRequest): Promise<void> | undefined => {
    const annotations = objectAt(objectAt(object, "metadata"), "annotations");
    if (operation !== "CREATE" || annotatedMaxRestarts(annotations) !== undefined) return undefined;
    return this.#catchUp.until(() => this.#reflector.get(namespace) !== undefined);
  };
}
