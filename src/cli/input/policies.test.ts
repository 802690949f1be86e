import { describe, expect, it } from "vitest";
import { defaultConfig } from "../../config/config.ts";
import { readDocuments } from "./documents.ts";
import { policiesIn } from "./policies.ts";

const CONFIG_MAP = `apiVersion: v1
kind: ConfigMap
metadata: {name: reprise-failure-policies, namespace: team}
data:
  mine: |
    failExitCodes: "40-41"
`;

function find(text: string, namespace: string, name: string) {
  const { documents } = readDocuments(text, "in.yaml");
  return policiesIn(documents, defaultConfig.failurePolicies, "default")(namespace, name);
}

describe("failure policies without a cluster", () => {
  it("are those of the ConfigMap in the input, in its namespace only", () => {
    expect(find(CONFIG_MAP, "team", "mine")).toEqual({ kind: "found", policy: { fail: [40, 41], recreate: [] } });
    expect(find(CONFIG_MAP, "other", "mine")).toMatchObject({ kind: "unknown", known: ["cuda-default"] });
  });

  it("are those of the config file", () => {
    expect(find("a: 1", "team", "cuda-default")).toMatchObject({ kind: "found" });
  });

  it("of a ConfigMap without a namespace belong to the default namespace", () => {
    expect(find(CONFIG_MAP.replace(", namespace: team", ""), "default", "mine")).toMatchObject({ kind: "found" });
  });

  it("are found in a List", () => {
    const list = `apiVersion: v1\nkind: List\nitems:\n- ${CONFIG_MAP.trimEnd().replaceAll("\n", "\n  ")}\n`;
    expect(find(list, "team", "mine")).toMatchObject({ kind: "found" });
  });

  it("are not read from any other object", () => {
    for (const [from, to] of [
      ["kind: ConfigMap", "kind: Secret"],
      ["reprise-failure-policies", "other"],
      ["apiVersion: v1", "apiVersion: v2"],
    ] as const) {
      expect(find(CONFIG_MAP.replace(from, to), "team", "mine")).toMatchObject({ kind: "unknown" });
    }
  });

  it("beyond a hundred in one ConfigMap are not read, and too long ones are rejected", () => {
    const many = Array.from({ length: 200 }, (_, index) => `  p${1000 + index}: "failExitCodes: 7"`).join("\n");
    expect(find(`${CONFIG_MAP}${many}\n`, "team", "p1000")).toMatchObject({ kind: "found" });
    expect(find(`${CONFIG_MAP}${many}\n`, "team", "p1150")).toMatchObject({ kind: "unknown" });
    expect(find(`${CONFIG_MAP}  long: "${"#".repeat(20_000)}"\n`, "team", "long")).toMatchObject({ kind: "invalid" });
  });
});
