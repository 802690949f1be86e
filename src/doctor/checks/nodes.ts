// The nodes: whether their kubelets can restart all containers of a Pod, and which container runtimes they have. Pure.
import { asList, asMap, asText, type Fields } from "../../json/fields.ts";
import { nameOf } from "../facts.ts";
import { type Check, fail, judgeRead, listed, ok, warn } from "../finding.ts";
import { GATE } from "./kubernetes.ts";

const NO_NODES = "add a node; Pods of JobSets cannot run without one";

export const nodeFeatures: Check = {
  name: "node-features",
  describe:
    `Linux nodes declare the feature \`${GATE}\`. The scheduler places no Pod of an injected JobSet on a node ` +
    "without it.",
  scope: "cluster",
  judge: ({ nodes }) =>
    judgeRead(
      nodes,
      "nodes",
      () => [warn("there are no nodes", NO_NODES)],
      (all) => {
        const linux = all.filter((node) => infoOf(node)["operatingSystem"] !== "windows");
        if (linux.length === 0) return [warn("there are no Linux nodes", NO_NODES)];
        const lacking = linux.filter((node) => !asList(asMap(node["status"])["declaredFeatures"]).includes(GATE));
        if (lacking.length === 0) return [ok(`all ${linux.length} Linux nodes declare ${GATE}`)];
        const names = listed(lacking.map((node) => `${nameOf(node)} (kubelet ${textOf(node, "kubeletVersion")})`));
        const message = `${lacking.length} of ${linux.length} Linux nodes do not declare ${GATE}: ${names}`;
        const fix = `upgrade their kubelets to 1.36 or newer, with the feature gate ${GATE} on`;
        return [lacking.length === linux.length ? fail(message, fix) : warn(message, fix)];
      },
    ),
};

const RUNTIMES = /^(containerd|cri-o):\/\//;

export const containerRuntimes: Check = {
  name: "container-runtimes",
  describe: "Nodes run containerd or CRI-O. The barrier is tested with these.",
  scope: "cluster",
  judge: ({ nodes }) =>
    judgeRead(
      nodes,
      "nodes",
      () => [],
      (all) => {
        const others = all.filter((node) => !RUNTIMES.test(textOf(node, "containerRuntimeVersion")));
        const runtimes = [...new Set(all.map((node) => textOf(node, "containerRuntimeVersion")))];
        if (others.length === 0) return all.length === 0 ? [] : [ok(listed(runtimes))];
        const names = listed(others.map((node) => `${nameOf(node)} (${textOf(node, "containerRuntimeVersion")})`));
        return [warn(`nodes with another runtime than containerd or CRI-O: ${names}`, "keep JobSets off these nodes")];
      },
    ),
};

function infoOf(node: Fields): Fields {
  return asMap(asMap(node["status"])["nodeInfo"]);
}

function textOf(node: Fields, key: string): string {
  return asText(infoOf(node)[key]) ?? "unknown";
}
