// The programs the local cluster is made of, and the Go modules they are built from. Versions are pinned by the go.mod
// and go.sum files under tools/: changing one changes the cache key and nothing else has to be told.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

interface ToolGroup {
  /** Folder under tools/ and what progress lines call it. */
  readonly folder: string;
  /** Binary name → Go package. */
  readonly programs: Readonly<Record<string, string>>;
  readonly linkerFlags?: string;
  /** A folder of the module that is needed at run time (manifests), kept beside the binaries. */
  readonly assets?: { readonly module: string; readonly folder: string };
}

const KUBERNETES = "k8s.io/kubernetes/cmd";
const CONTAINERD = "github.com/containerd/containerd/v2/cmd";
const CERT_MANAGER = "github.com/cert-manager/cert-manager/cmd";
const KUBERNETES_VERSION = moduleVersion("kubernetes", "k8s.io/kubernetes");

const TOOL_GROUPS = {
  init: { folder: "init", programs: { "reprise-cluster-init": "." } },
  etcd: { folder: "etcd", programs: { etcd: "go.etcd.io/etcd/server/v3" } },
  kubernetes: {
    folder: "kubernetes",
    programs: {
      "kube-apiserver": `${KUBERNETES}/kube-apiserver`,
      "kube-controller-manager": `${KUBERNETES}/kube-controller-manager`,
      "kube-scheduler": `${KUBERNETES}/kube-scheduler`,
      kubectl: `${KUBERNETES}/kubectl`,
      kubelet: `${KUBERNETES}/kubelet`,
    },
    // Without the stamp the server calls itself v0.0.0 and clients that check its version refuse it.
    linkerFlags: versionStamp(KUBERNETES_VERSION),
  },
  containerd: {
    folder: "containerd",
    programs: {
      containerd: `${CONTAINERD}/containerd`,
      "containerd-shim-runc-v2": `${CONTAINERD}/containerd-shim-runc-v2`,
      ctr: `${CONTAINERD}/ctr`,
    },
  },
  jobset: {
    folder: "jobset",
    programs: {
      jobset: "sigs.k8s.io/jobset",
      "in-place-restart-agent": "sigs.k8s.io/jobset/cmd/in-place-restart-agent",
    },
    assets: { module: "sigs.k8s.io/jobset", folder: "config" },
  },
  certManager: {
    folder: "cert-manager",
    programs: {
      controller: `${CERT_MANAGER}/controller`,
      webhook: `${CERT_MANAGER}/webhook`,
      cainjector: `${CERT_MANAGER}/cainjector`,
    },
    assets: { module: "github.com/cert-manager/cert-manager", folder: "deploy/crds" },
  },
} as const satisfies Record<string, ToolGroup>;

export type ToolGroupName = keyof typeof TOOL_GROUPS;

export function toolGroup(name: ToolGroupName): ToolGroup {
  return TOOL_GROUPS[name];
}

export function moduleFolder(name: ToolGroupName): string {
  return new URL(`tools/${TOOL_GROUPS[name].folder}/`, import.meta.url).pathname;
}

/** What the built binaries depend on, in one short string. */
export function cacheKey(name: ToolGroupName): string {
  const hash = createHash("sha256").update(JSON.stringify(TOOL_GROUPS[name])).update(process.arch);
  for (const file of ["go.mod", "go.sum", "main.go"]) hash.update(readIfPresent(`${moduleFolder(name)}${file}`));
  return `${TOOL_GROUPS[name].folder}-${hash.digest("hex").slice(0, 12)}`;
}

/** The version of a module that a tool group pins, such as v1.36.3. */
export function moduleVersion(folder: string, module: string): string {
  const text = readFileSync(new URL(`tools/${folder}/go.mod`, import.meta.url), "utf8");
  const version = new RegExp(`^(?:require )?\\s*${module.replaceAll(".", "\\.")} (v\\S+)$`, "m").exec(text)?.[1];
  if (version === undefined) throw new Error(`tools/${folder}/go.mod does not require ${module}`);
  return version;
}

function versionStamp(version: string): string {
  const [major, minor] = version.slice(1).split(".");
  const set = (name: string, value: string | undefined) => `-X k8s.io/component-base/version.${name}=${value}`;
  return [set("gitVersion", version), set("gitMajor", major), set("gitMinor", minor)].join(" ");
}

function readIfPresent(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
