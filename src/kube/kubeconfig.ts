// Finds and reads the kubeconfig. Every field that matters is checked here, because a mistake in the kubeconfig is
// often the first error that a new user sees. The valid file goes to client-node, which handles authentication.

import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { parse, YAMLError } from "yaml";
import { z } from "zod";
import { RepriseError, reasonOf } from "../errors.ts";
import { TokenFileAuth, withTokenFile } from "./token.ts";

export interface KubeConfigSource {
  /** The --kubeconfig flag. It takes precedence over everything else. */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  /** Prefix of the service account directory, for tests outside a container. */
  readonly root?: string;
}

const text = z.string().min(1);
const optionalText = z.string().nullish();

/** The fields that are checked. client-node handles the rest. */
const clusterEntry = z.looseObject({
  name: text,
  cluster: z.looseObject({
    server: text,
    "certificate-authority": optionalText,
    "certificate-authority-data": optionalText,
    "insecure-skip-tls-verify": z.boolean().nullish(),
  }),
});
const userEntry = z.looseObject({
  name: text,
  user: z
    .looseObject({
      token: optionalText,
      tokenFile: optionalText,
      "client-certificate": optionalText,
      "client-certificate-data": optionalText,
      "client-key": optionalText,
      "client-key-data": optionalText,
      exec: z.looseObject({ command: text }).nullish(),
    })
    .nullish(),
});
const contextEntry = z.looseObject({ name: text, context: z.looseObject({ cluster: text, user: text }) });
const kubeconfigFile = z.looseObject({
  kind: z.literal("Config").nullish(),
  "current-context": optionalText,
  clusters: z.array(clusterEntry).nullish(),
  users: z.array(userEntry).nullish(),
  contexts: z.array(contextEntry).nullish(),
});
type KubeconfigFile = z.infer<typeof kubeconfigFile>;

/** The order of controller-runtime: flag, KUBECONFIG, service account of the Pod, home directory. */
export function loadKubeConfig(source: KubeConfigSource = {}): KubeConfig {
  if (source.kubeconfig !== undefined) return fromFiles([source.kubeconfig], source.context);
  const listed = (process.env["KUBECONFIG"] ?? "").split(delimiter).filter((file) => file !== "");
  if (listed.length > 0) {
    // kubectl skips listed files that do not exist. If none exists, the error names the first one.
    const present = listed.filter((file) => existsSync(file));
    return fromFiles(present.length > 0 ? present : listed.slice(0, 1), source.context);
  }
  const root = source.root ?? "";
  if (insideCluster(root)) return fromServiceAccount(root);
  const home = join(homedir(), ".kube", "config");
  if (!existsSync(home)) throw new RepriseError("KUBECONFIG_NOT_FOUND", { searched: home });
  return fromFiles([home], source.context);
}

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

function insideCluster(root: string): boolean {
  return process.env["KUBERNETES_SERVICE_HOST"] !== undefined && existsSync(`${root}${SERVICE_ACCOUNT}/token`);
}

function fromServiceAccount(root: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromCluster(root);
  config.users = config.users.map((user) => withTokenFile(user, `${root}${SERVICE_ACCOUNT}/token`));
  config.addAuthenticator(new TokenFileAuth());
  return config;
}

/** Merges several files as kubectl does: the first value wins. */
function fromFiles(files: readonly string[], context: string | undefined): KubeConfig {
  const merged = new KubeConfig();
  merged.addAuthenticator(new TokenFileAuth());
  const origin = new Map<string, string>();
  for (const file of files) {
    const content = read(file);
    const parsed = check(file, content);
    const config = new KubeConfig();
    config.loadFromString(content);
    config.makePathsAbsolute(dirname(resolve(file)));
    applyTokenFiles(config, parsed, file);
    for (const list of ["clusters", "users", "contexts"] as const) {
      for (const { name } of config[list]) if (!origin.has(`${list} ${name}`)) origin.set(`${list} ${name}`, file);
    }
    merged.clusters = firstOfEachName([...merged.clusters, ...config.clusters]);
    merged.users = firstOfEachName([...merged.users, ...config.users]);
    merged.contexts = firstOfEachName([...merged.contexts, ...config.contexts]);
    if (!merged.currentContext && config.currentContext) merged.setCurrentContext(config.currentContext);
  }
  if (context !== undefined) merged.setCurrentContext(context);
  checkSelection(merged, files.join(delimiter), origin);
  return merged;
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new RepriseError("KUBECONFIG_UNREADABLE", { file, reason: reasonOf(error) }, { cause: error });
  }
}

function check(file: string, content: string): KubeconfigFile {
  let document: unknown;
  try {
    document = parse(content);
  } catch (error) {
    // The first line names the problem and the position. The excerpt after it could show a token.
    const reason = `not valid YAML: ${reasonOf(error).split("\n", 1)[0]}`;
    throw new RepriseError(
      "KUBECONFIG_UNREADABLE",
      { file, reason },
      error instanceof YAMLError ? {} : { cause: error },
    );
  }
  const result = kubeconfigFile.safeParse(document);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const field = fieldPath(issue?.path ?? []) || "the file";
  const problem = `is invalid: ${(issue?.message ?? "unknown").replace(/^Invalid input: /, "")}`;
  throw new RepriseError("KUBECONFIG_INVALID", { file, field, problem });
}

function fieldPath(path: readonly PropertyKey[]): string {
  return path
    .map((step, depth) => (typeof step === "number" ? `[${step}]` : `${depth > 0 ? "." : ""}${String(step)}`))
    .join("");
}

/** client-node does not support tokenFile; without this the user would be anonymous. */
function applyTokenFiles(config: KubeConfig, parsed: KubeconfigFile, file: string): void {
  for (const entry of parsed.users ?? []) {
    const path = entry.user?.tokenFile;
    if (!path) continue;
    const absolute = resolve(dirname(resolve(file)), path);
    config.users = config.users.map((user) => (user.name === entry.name ? withTokenFile(user, absolute) : user));
  }
}

function firstOfEachName<T extends { readonly name: string }>(entries: readonly T[]): T[] {
  const byName = new Map<string, T>();
  for (const entry of entries) if (!byName.has(entry.name)) byName.set(entry.name, entry);
  return [...byName.values()];
}

/** Follows current-context to its cluster and user, and checks every file that they reference. */
function checkSelection(config: KubeConfig, files: string, origin: ReadonlyMap<string, string>): void {
  const selected = config.getCurrentContext();
  if (!selected) {
    throw new RepriseError("KUBECONFIG_INVALID", { file: files, field: "current-context", problem: "is not set" });
  }
  const names = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name);
  const context = config.getContextObject(selected);
  if (context === null) {
    const known = names(config.contexts);
    throw new RepriseError("KUBECONFIG_DANGLING", { file: files, field: "current-context", name: selected, known });
  }
  const contextFile = origin.get(`contexts ${selected}`) ?? files;
  const dangling = (kind: "cluster" | "user", name: string, known: readonly string[]) => {
    const field = `contexts[${selected}].context.${kind}`;
    return new RepriseError("KUBECONFIG_DANGLING", { file: contextFile, field, name, known });
  };
  const cluster = config.getCluster(context.cluster);
  if (cluster === null) throw dangling("cluster", context.cluster, names(config.clusters));
  const user = config.getUser(context.user);
  if (user === null) throw dangling("user", context.user, names(config.users));

  const clusterFile = origin.get(`clusters ${cluster.name}`) ?? files;
  const clusterField = `clusters[${cluster.name}].cluster`;
  checkServer(cluster.server, cluster.skipTLSVerify, clusterFile, `${clusterField}.server`);
  checkReadable(cluster.caFile, clusterFile, `${clusterField}.certificate-authority`);
  checkPem(cluster.caData, clusterFile, `${clusterField}.certificate-authority-data`);

  const userFile = origin.get(`users ${user.name}`) ?? files;
  const userField = `users[${user.name}].user`;
  checkReadable(user.certFile, userFile, `${userField}.client-certificate`);
  checkReadable(user.keyFile, userFile, `${userField}.client-key`);
  checkPem(user.certData, userFile, `${userField}.client-certificate-data`);
  checkPem(user.keyData, userFile, `${userField}.client-key-data`);
  checkReadable(user.authProvider?.config?.path, userFile, `${userField}.tokenFile`);
}

function checkServer(server: string, insecure: boolean, file: string, field: string): void {
  const protocol = URL.parse(server)?.protocol;
  if (protocol === "https:" || (protocol === "http:" && insecure)) return;
  const problem =
    protocol === "http:"
      ? "uses http, which sends credentials in clear text (allowed only with insecure-skip-tls-verify: true)"
      : `is not a URL: ${JSON.stringify(server)}`;
  throw new RepriseError("KUBECONFIG_INVALID", { file, field, problem });
}

function checkReadable(path: string | null | undefined, file: string, field: string): void {
  if (!path) return;
  try {
    readFileSync(path);
  } catch (error) {
    const params = { file, field, path, reason: reasonOf(error) };
    throw new RepriseError("KUBECONFIG_REFERENCE_UNREADABLE", params, { cause: error });
  }
}

/** Otherwise a damaged value shows up later as an OpenSSL error that names neither file nor field. */
function checkPem(base64: string | null | undefined, file: string, field: string): void {
  if (!base64 || Buffer.from(base64, "base64").includes("-----BEGIN ")) return;
  throw new RepriseError("KUBECONFIG_INVALID", { file, field, problem: "is not base64-encoded PEM" });
}
