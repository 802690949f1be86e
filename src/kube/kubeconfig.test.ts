import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { RepriseError } from "../errors.ts";
import { type KubeConfigSource, loadKubeConfig } from "./kubeconfig.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reprise-kubeconfig-"));
  vi.stubEnv("KUBECONFIG", undefined);
  vi.stubEnv("HOME", folder);
  vi.stubEnv("KUBERNETES_SERVICE_HOST", undefined);
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const SOUND = `
kind: Config
current-context: dev
contexts:
- {name: dev, context: {cluster: c, user: u, namespace: team}}
clusters:
- {name: c, cluster: {server: "https://127.0.0.1:6443"}}
users:
- {name: u, user: {token: t}}
`;

function write(name: string, content: string): string {
  const file = join(folder, name);
  writeFileSync(file, content);
  return file;
}

function failure(source: KubeConfigSource): RepriseError {
  try {
    loadKubeConfig(source);
  } catch (error) {
    if (error instanceof RepriseError) return error;
    throw error;
  }
  throw new Error("the kubeconfig was accepted");
}

describe("an invalid kubeconfig is rejected in one line that names the file, the field and the fix", () => {
  const cases: [what: string, content: string, code: string, field: string][] = [
    ["not YAML", "a: [1\nb: }", "KUBECONFIG_UNREADABLE", "not valid YAML"],
    ["empty", "", "KUBECONFIG_INVALID", "the file"],
    ["a list", "- 1", "KUBECONFIG_INVALID", "the file"],
    ["another kind", SOUND.replace("kind: Config", "kind: Pod"), "KUBECONFIG_INVALID", "kind"],
    ["a number as token", SOUND.replace("token: t", "token: 7"), "KUBECONFIG_INVALID", "users[0].user.token"],
    [
      "no server",
      SOUND.replace('server: "https://127.0.0.1:6443"', "x: 1"),
      "KUBECONFIG_INVALID",
      "clusters[0].cluster.server",
    ],
    ["no current context", SOUND.replace("current-context: dev", ""), "KUBECONFIG_INVALID", "current-context"],
    ["unknown context", SOUND.replace("current-context: dev", "current-context: prod"), "KUBECONFIG_DANGLING", "dev"],
    [
      "unknown cluster",
      SOUND.replace("cluster: c,", "cluster: x,"),
      "KUBECONFIG_DANGLING",
      "contexts[dev].context.cluster",
    ],
    ["unknown user", SOUND.replace("user: u,", "user: x,"), "KUBECONFIG_DANGLING", "contexts[dev].context.user"],
    [
      "a server that is no URL",
      SOUND.replace("https://127", "127"),
      "KUBECONFIG_INVALID",
      "clusters[c].cluster.server",
    ],
    ["clear-text http", SOUND.replace("https:", "http:"), "KUBECONFIG_INVALID", "clusters[c].cluster.server"],
    [
      "a missing CA file",
      SOUND.replace('6443"', '6443", certificate-authority: gone.crt'),
      "KUBECONFIG_REFERENCE_UNREADABLE",
      "certificate-authority",
    ],
    [
      "a damaged CA",
      SOUND.replace('6443"', '6443", certificate-authority-data: AAAA'),
      "KUBECONFIG_INVALID",
      "clusters[c].cluster.certificate-authority-data",
    ],
    [
      "a missing client key",
      SOUND.replace("token: t", "client-key: gone.key"),
      "KUBECONFIG_REFERENCE_UNREADABLE",
      "users[u].user.client-key",
    ],
    [
      "a missing token file",
      SOUND.replace("token: t", "tokenFile: gone"),
      "KUBECONFIG_REFERENCE_UNREADABLE",
      "users[u].user.tokenFile",
    ],
    [
      "exec without a command",
      SOUND.replace("token: t", "exec: {args: []}"),
      "KUBECONFIG_INVALID",
      "users[0].user.exec.command",
    ],
  ];
  test.each(cases)("%s", (_what, content, code, field) => {
    const file = write("config", content);
    const error = failure({ kubeconfig: file });
    expect(error.code).toBe(code);
    expect(error.message).toContain(file);
    expect(error.message).toContain(field);
    expect(error.message).toContain(error.fix);
    expect(error.message).not.toContain("\n");
  });

  test("a file that does not exist", () => {
    const file = join(folder, "nowhere");
    expect(failure({ kubeconfig: file }).message).toContain(file);
  });

  test("a --context that does not exist lists the known ones", () => {
    expect(failure({ kubeconfig: write("config", SOUND), context: "prod" }).fix).toBe("use one of: dev");
  });

  test("a token in the file never appears in the message", () => {
    const file = write("config", "users:\n- name: u\n  user:\n    token: hunter2: x\n");
    expect(failure({ kubeconfig: file }).message).not.toContain("hunter2");
  });
});

test("without a kubeconfig and outside a cluster, the error names the file that was looked for", () => {
  const error = failure({ root: folder });
  expect(error.code).toBe("KUBECONFIG_NOT_FOUND");
  expect(error.message).toContain(join(folder, ".kube", "config"));
});

test("the first file of KUBECONFIG that defines an entry wins, and missing files are skipped", () => {
  const first = write("first", SOUND);
  const second = write(
    "second",
    SOUND.replaceAll("6443", "7443")
      .replace("current-context: dev", "current-context: other")
      .replaceAll("name: dev", "name: other"),
  );
  vi.stubEnv("KUBECONFIG", [join(folder, "nowhere"), first, second].join(delimiter));
  const config = loadKubeConfig();
  expect(config.getCurrentCluster()?.server).toBe("https://127.0.0.1:6443");
  expect(config.contexts.map(({ name }) => name)).toEqual(["dev", "other"]);
});

test("--kubeconfig wins over KUBECONFIG, then the service account, then the home directory", () => {
  const named = (port: string, name: string) => write(name, SOUND.replace("6443", port));
  mkdirSync(join(folder, ".kube"));
  named("1", ".kube/config");
  const server = (source: KubeConfigSource = {}) =>
    loadKubeConfig({ root: folder, ...source }).getCurrentCluster()?.server;
  expect(server()).toBe("https://127.0.0.1:1");

  const secrets = join(folder, "var/run/secrets/kubernetes.io/serviceaccount");
  mkdirSync(secrets, { recursive: true });
  writeFileSync(join(secrets, "token"), "t");
  writeFileSync(join(secrets, "namespace"), "reprise-system");
  vi.stubEnv("KUBERNETES_SERVICE_HOST", "fd00::1");
  vi.stubEnv("KUBERNETES_SERVICE_PORT", "443");
  expect(server()).toBe("https://[fd00::1]:443");

  vi.stubEnv("KUBECONFIG", named("2", "env"));
  expect(server()).toBe("https://127.0.0.1:2");
  expect(server({ kubeconfig: named("3", "explicit") })).toBe("https://127.0.0.1:3");
});
