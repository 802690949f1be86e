// Another team's mutating webhook, in the same API server as reprise's.
import { createServer } from "node:https";
import type { Kubectl } from "./cluster/kubectl.ts";
import { createAuthority } from "./cluster/pki.ts";
import { freePort } from "./free-port.ts";

export interface Neighbor<T> {
  /** Of the configuration. The API server calls webhooks in the order of these names. */
  readonly name: string;
  /** The address at which the API server reaches this process. */
  readonly address: string;
  /** It is called for namespaces with this label. */
  readonly namespaces: Readonly<Record<string, string>>;
  readonly rule: {
    readonly apiGroups: readonly string[];
    readonly apiVersions: readonly string[];
    readonly operations: readonly string[];
    readonly resources: readonly string[];
  };
  /** The JSON patch for an object. */
  readonly patch: (object: T) => readonly object[];
}

/** Serves and registers it. Returns how it ends. */
export async function startNeighbor<T>(kubectl: Kubectl, neighbor: Neighbor<T>): Promise<() => Promise<void>> {
  const { name, address, namespaces, rule, patch } = neighbor;
  const authority = createAuthority("neighbor");
  const pair = authority.issue({ commonName: "neighbor", ipAddresses: [address] });
  const port = await freePort();
  const server = createServer(pair, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const review = JSON.parse(Buffer.concat(chunks).toString()) as { request: { uid: string; object: T } };
      const { uid, object } = review.request;
      const answer = { uid, allowed: true, patchType: "JSONPatch", patch: encode(JSON.stringify(patch(object))) };
      response.setHeader("Content-Type", "application/json");
      response.end(JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: answer }));
    });
  });
  await new Promise<void>((resolve) => server.listen(port, address, resolve));
  const configuration = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name },
    webhooks: [
      {
        name: `${name}.example.com`,
        admissionReviewVersions: ["v1"],
        sideEffects: "None",
        clientConfig: { url: `https://${address}:${port}/`, caBundle: encode(authority.cert) },
        namespaceSelector: { matchLabels: namespaces },
        rules: [rule],
      },
    ],
  };
  await kubectl(["apply", "-f", "-"], { input: JSON.stringify(configuration) });
  return async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
}

const encode = (text: string): string => Buffer.from(text).toString("base64");
