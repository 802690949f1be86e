import { expect, it } from "vitest";
import { readDocuments } from "./documents.ts";
import { namespacesIn } from "./namespaces.ts";

const NAMESPACE = `apiVersion: v1
kind: Namespace
metadata:
  name: team
  annotations: {reprise.dev/max-restarts: "8"}
`;

function textIn(input: string, namespace: string) {
  const limit = namespacesIn(readDocuments(input, "in.yaml").documents)(namespace);
  return limit.kind === "known" ? limit.text : limit.reason;
}

it("the annotations of Namespaces without a cluster are those in the input", () => {
  expect(textIn(NAMESPACE, "team")).toBe("8");
  expect(textIn(NAMESPACE, "other")).toBeUndefined();
  expect(textIn(NAMESPACE.replace("Namespace", "ConfigMap"), "team")).toBeUndefined();
});

it("the annotations of Namespaces are also found in a List", () => {
  const list = `apiVersion: v1\nkind: List\nitems:\n- ${NAMESPACE.trimEnd().replaceAll("\n", "\n  ")}\n`;
  expect(textIn(list, "team")).toBe("8");
});
