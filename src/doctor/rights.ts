// The rights that the accounts of reprise need. A test compares them with manifests/*/rbac.yaml. Pure.

export interface Right {
  readonly account: "reprise-controller" | "reprise-webhook";
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly verb: string;
  readonly name?: string;
  /** In the namespace of the installation only. */
  readonly own?: boolean;
}

type Grant = readonly [group: string, resource: string, verbs: string, names?: readonly string[]];

export const AGENT_ROLES = ["reprise-agent-reader", "reprise-agent-jobset-reader", "reprise-agent-writer"] as const;

const CONTROLLER: readonly Grant[] = [
  ["jobset.x-k8s.io", "jobsets", "list watch"],
  ["jobset.x-k8s.io", "jobsets/status", "patch"],
  ["batch", "jobs", "list watch patch"],
  ["", "pods", "list watch delete"],
  ["", "pods/status", "patch"],
  ["", "nodes", "get list watch"],
  ["", "namespaces", "list watch"],
  ["reprise.dev", "inplacerestarts", "list watch create delete"],
  ["reprise.dev", "inplacerestarts/status", "patch"],
  ["reprise.dev", "groupepochs", "create patch"],
  ["rbac.authorization.k8s.io", "rolebindings", "create"],
  ["rbac.authorization.k8s.io", "clusterroles", "bind", AGENT_ROLES],
  ["authorization.k8s.io", "subjectaccessreviews", "create"],
  ["admissionregistration.k8s.io", "mutatingwebhookconfigurations", "get", ["reprise-webhook"]],
  ["events.k8s.io", "events", "create patch"],
];

const CONTROLLER_LEASE: readonly Grant[] = [
  ["coordination.k8s.io", "leases", "create"],
  ["coordination.k8s.io", "leases", "get update", ["reprise-controller"]],
];

const WEBHOOK: readonly Grant[] = [
  ["", "configmaps", "list watch", ["reprise-failure-policies"]],
  ["", "namespaces", "list watch"],
];

export const RIGHTS: readonly Right[] = [
  ...rightsOf("reprise-controller", CONTROLLER),
  ...rightsOf("reprise-controller", CONTROLLER_LEASE).map((right) => ({ ...right, own: true })),
  ...rightsOf("reprise-webhook", WEBHOOK),
];

function rightsOf(account: Right["account"], grants: readonly Grant[]): readonly Right[] {
  return grants.flatMap(([group, path, verbs, names = [undefined]]) => {
    const [resource = "", subresource] = path.split("/");
    const common = { account, group, resource, ...(subresource === undefined ? {} : { subresource }) };
    return verbs
      .split(" ")
      .flatMap((verb) => names.map((name) => ({ ...common, verb, ...(name === undefined ? {} : { name }) })));
  });
}

/** For example "patch jobsets/status.jobset.x-k8s.io". */
export function describeRight({ group, resource, subresource, verb, name }: Right): string {
  const path = subresource === undefined ? resource : `${resource}/${subresource}`;
  return `${verb} ${path}${group === "" ? "" : `.${group}`}${name === undefined ? "" : ` ${name}`}`;
}
