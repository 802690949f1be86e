// The cluster's keys and kubeconfig files in one folder, all signed by the cluster's own CA.
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Authority, createAuthority, type KeyPair } from "./pki.ts";

export interface Credentials {
  readonly folder: string;
  readonly authority: Authority;
  readonly admin: KeyPair;
  /** Writes NAME.crt and NAME.key and returns their paths. */
  write(name: string, pair: KeyPair): { certFile: string; keyFile: string };
  /** Writes a kubeconfig for a client certificate with this user and group, and returns its path. */
  kubeconfig(name: string, user: string, group: string): string;
  path(file: string): string;
}

/** The group with all permissions. */
const ADMIN_GROUP = "system:masters";

export function createCredentials(folder: string, server: string, ipAddresses: readonly string[]): Credentials {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const authority = createAuthority("reprise local cluster");
  const path = (file: string) => join(folder, file);
  const write = (name: string, pair: KeyPair) => {
    const files = { certFile: path(`${name}.crt`), keyFile: path(`${name}.key`) };
    writeFileSync(files.certFile, pair.cert);
    writeFileSync(files.keyFile, pair.key, { mode: 0o600 });
    return files;
  };
  const writeKubeconfig = (name: string, pair: KeyPair) => {
    const file = path(`${name}.kubeconfig`);
    writeFileSync(file, kubeconfigText(server, authority.cert, pair), { mode: 0o600 });
    return file;
  };
  write("ca", authority);
  write(
    "apiserver",
    authority.issue({
      commonName: "kube-apiserver",
      dnsNames: ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"],
      ipAddresses: ["127.0.0.1", ...ipAddresses],
    }),
  );
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  writeFileSync(path("sa.pub"), publicKey.export({ type: "spki", format: "pem" }));
  writeFileSync(path("sa.key"), privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
  const admin = authority.issue({ commonName: "admin", organization: ADMIN_GROUP });
  write("admin", admin);
  writeKubeconfig("admin", admin);
  return {
    folder,
    authority,
    admin,
    write,
    path,
    kubeconfig: (name, user, group) =>
      writeKubeconfig(name, authority.issue({ commonName: user, organization: group })),
  };
}

function kubeconfigText(server: string, ca: string, pair: KeyPair): string {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  return JSON.stringify(
    {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "reprise", cluster: { server, "certificate-authority-data": base64(ca) } }],
      users: [
        {
          name: "reprise",
          user: { "client-certificate-data": base64(pair.cert), "client-key-data": base64(pair.key) },
        },
      ],
      contexts: [{ name: "reprise", context: { cluster: "reprise", user: "reprise" } }],
      "current-context": "reprise",
    },
    null,
    2,
  );
}
