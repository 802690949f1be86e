// The API server: its version, and whether it keeps the rule that restarts all containers of a Pod. Pure.
import { judgeCluster } from "../../api/prerequisites.ts";
import { asList, asMap, asText, type Fields } from "../../json/fields.ts";
import { type Check, fail, judgeRead, ok, warn } from "../finding.ts";

const UPGRADE = "upgrade the control plane to Kubernetes 1.36 or newer";

export const kubernetesVersion: Check = {
  name: "kubernetes-version",
  describe: "Kubernetes is 1.36 or newer: older versions cannot restart all containers of a Pod in place.",
  scope: "cluster",
  judge: ({ kubernetes }) =>
    judgeRead(
      kubernetes,
      "/version",
      () => [warn("unknown: the API server does not tell its version", UPGRADE)],
      (version) => {
        const lack = judgeCluster({ version, jobSetApi: {} }).find(({ reason }) => reason === "kubernetes-too-old");
        if (lack !== undefined) return [fail(lack.message.replace(/;.*/s, ""), UPGRADE)];
        return [ok(`Kubernetes ${asText(version["gitVersion"]) ?? ""}`)];
      },
    ),
};

const ACTION = "RestartAllContainers";

export const restartRules: Check = {
  name: "restart-rules",
  describe:
    "The API server keeps the rule `RestartAllContainers` of a dry-run Pod. A feature gate can be off in any version.",
  scope: "cluster",
  judge({ podProbe }) {
    const gates = `enable the feature gates ContainerRestartRules, NodeDeclaredFeatures and ${GATE}`;
    if (podProbe.kind === "answered")
      return keepsRule(podProbe.object)
        ? [ok(`a dry-run Pod keeps its rule ${ACTION}`)]
        : [fail(`the API server drops the rule ${ACTION} of a Pod`, `${gates} of the API server`)];
    if (podProbe.kind === "refused" && podProbe.reason.includes("restartPolicyRules"))
      return [fail(`the API server refuses the rule ${ACTION}: ${podProbe.reason}`, `${gates} of the API server`)];
    if (podProbe.kind === "not-tried")
      return [warn("unknown: there is no namespace for a dry-run Pod", "pass -n NAME")];
    return [warn(`unknown: a dry-run Pod was refused: ${podProbe.reason}`, "pass -n with a namespace that admits it")];
  },
};

/** Of API servers and kubelets. */
export const GATE = "RestartAllContainersOnContainerExits";

function keepsRule(pod: Fields): boolean {
  const [container] = asList(asMap(pod["spec"])["containers"]);
  return asList(asMap(container)["restartPolicyRules"]).some((rule) => asMap(rule)["action"] === ACTION);
}
