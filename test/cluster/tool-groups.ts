// The Go programs that the local cluster and the tests run, and the modules they are built from. The go.mod and go.sum
// files under tools/ pin the versions. Changing one changes the cache key; no other place names a version.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

interface ToolGroup {
  /** The Go module, a folder under tools/. Groups of one module are compiled together. */
  readonly module: string;
  /** Binary name → Go package. */
  readonly programs: Readonly<Record<string, string>>;
  readonly linkerFlags?: string;
  /** Files of the Go module itself that a program is built from. */
  readonly sources?: readonly string[];
  /** A folder of a dependency that is needed at run time (manifests), kept beside the binaries. */
  readonly assets?: { readonly module: string; readonly folder: string };
}

const KUBERNETES = "k8s.io/kubernetes/cmd";
const CONTAINERD = "github.com/containerd/containerd/v2/cmd";
const CERT_MANAGER = "github.com/cert-manager/cert-manager";

const TOOL_GROUPS = {
  init: { module: "init", programs: { "reprise-cluster-init": "." }, sources: ["main.go"] },
  etcd: { module: "cluster", programs: { etcd: "go.etcd.io/etcd/server/v3" } },
  kubernetes: {
    module: "cluster",
    programs: {
      "kube-apiserver": `${KUBERNETES}/kube-apiserver`,
      "kube-controller-manager": `${KUBERNETES}/kube-controller-manager`,
      "kube-scheduler": `${KUBERNETES}/kube-scheduler`,
      kubectl: `${KUBERNETES}/kubectl`,
      kubelet: `${KUBERNETES}/kubelet`,
    },
    // Without the stamp the server reports v0.0.0, and clients that check its version refuse it.
    linkerFlags: versionStamp(moduleVersion("cluster", "k8s.io/kubernetes")),
  },
  containerd: {
    module: "cluster",
    programs: {
      containerd: `${CONTAINERD}/containerd`,
      "containerd-shim-runc-v2": `${CONTAINERD}/containerd-shim-runc-v2`,
      ctr: `${CONTAINERD}/ctr`,
    },
  },
  jobset: {
    module: "cluster",
    programs: {
      jobset: "sigs.k8s.io/jobset",
      "in-place-restart-agent": "sigs.k8s.io/jobset/cmd/in-place-restart-agent",
    },
    assets: { module: "sigs.k8s.io/jobset", folder: "config" },
  },
  certManager: {
    module: "cluster",
    programs: { "cert-manager": "./cert-manager" },
    sources: ["cert-manager/main.go"],
    assets: { module: CERT_MANAGER, folder: "deploy/crds" },
  },
  /** No part of a cluster: it renders and installs charts/reprise. */
  helm: { module: "helm", programs: { helm: "helm.sh/helm/v4/cmd/helm" } },
  /** No part of a cluster: it checks .github/workflows. */
  actionlint: { module: "actionlint", programs: { actionlint: "github.com/rhysd/actionlint/cmd/actionlint" } },
  /** Installed on request: `--with dns`. */
  coredns: { module: "coredns", programs: { coredns: "." }, sources: ["main.go"] },
} as const satisfies Record<string, ToolGroup>;

export type ToolGroupName = keyof typeof TOOL_GROUPS;

export function toolGroup(name: ToolGroupName): ToolGroup {
  return TOOL_GROUPS[name];
}

export function moduleFolder(module: string): string {
  return new URL(`tools/${module}/`, import.meta.url).pathname;
}

/** Identifies everything that the binaries of a group depend on. go.sum adds nothing: it verifies what go.mod names. */
export function cacheKey(name: ToolGroupName): string {
  const { module, sources = [] } = toolGroup(name);
  const hash = createHash("sha256").update(JSON.stringify(TOOL_GROUPS[name])).update(process.arch);
  for (const file of ["go.mod", ...sources]) hash.update(readFileSync(`${moduleFolder(module)}${file}`));
  return `${name}-${hash.digest("hex").slice(0, 12)}`;
}

/** The version of a dependency that a Go module under tools/ pins, such as v1.36.3. */
export function moduleVersion(module: string, dependency: string): string {
  const text = readFileSync(`${moduleFolder(module)}go.mod`, "utf8");
  const version = new RegExp(`^(?:require )?\\s*${dependency.replaceAll(".", "\\.")} (v\\S+)$`, "m").exec(text)?.[1];
  if (version === undefined) throw new Error(`tools/${module}/go.mod does not require ${dependency}`);
  return version;
}

function versionStamp(version: string): string {
  const [major, minor] = version.slice(1).split(".");
  const set = (name: string, value: string | undefined) => `-X k8s.io/component-base/version.${name}=${value}`;
  return [set("gitVersion", version), set("gitMajor", major), set("gitMinor", minor)].join(" ");
}
