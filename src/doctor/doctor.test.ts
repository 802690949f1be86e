import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { asList, asMap, asText } from "../json/fields.ts";
import { CHECKS, diagnose } from "./doctor.ts";
import type { Facts } from "./facts.ts";
import { RIGHTS, type Right } from "./rights.ts";

const ABSENT = { kind: "absent" } as const;

/** A cluster in which nothing was found. */
const EMPTY: Facts = {
  now: Date.UTC(2026, 0, 1),
  version: "0.1.0",
  systemNamespace: "reprise-system",
  kubernetes: ABSENT,
  jobSetApi: ABSENT,
  repriseApi: ABSENT,
  podProbe: { kind: "not-tried" },
  nodes: ABSENT,
  certManager: ABSENT,
  certificate: ABSENT,
  mutatingWebhooks: ABSENT,
  validatingWebhooks: ABSENT,
  endpoints: ABSENT,
  jobSetProbe: { kind: "not-tried" },
  deployments: ABSENT,
  lease: ABSENT,
  missingRights: ABSENT,
  agentRoles: ABSENT,
  policies: ABSENT,
  policyBindings: ABSENT,
  namespaces: ABSENT,
  jobSets: ABSENT,
  groups: ABSENT,
  localQueues: ABSENT,
  clusterQueues: ABSENT,
};

function graded(change: Partial<Facts>, check: string): readonly string[] {
  return diagnose({ ...EMPTY, ...change })
    .filter((finding) => finding.check === check)
    .map(({ grade, message }) => `${grade}: ${message}`);
}

function read<T>(value: T) {
  return { kind: "read", value } as const;
}

/** The OpenAPI document of reprise, with these CRDs. */
function served(...plurals: readonly string[]) {
  const schemas = plurals.map((plural) => {
    const { names, versions } = parse(readFileSync(`manifests/crd/reprise.dev_${plural}.yaml`, "utf8")).spec;
    return [`dev.reprise.v1alpha1.${names.kind}`, versions[0].schema.openAPIV3Schema];
  });
  return read({ components: { schemas: Object.fromEntries(schemas) } });
}

describe("the checks", () => {
  it("of the installation do not apply before any part of it exists", () => {
    const names = new Set(CHECKS.filter(({ scope }) => scope === "installation").map(({ name }) => name));
    expect(diagnose(EMPTY).filter(({ check }) => names.has(check))).toEqual([]);
    expect(diagnose(EMPTY).at(-1)).toMatchObject({ check: "installed", grade: "warn" });
    expect(diagnose({ ...EMPTY, repriseApi: read({}) }).some(({ check }) => check === "leader")).toBe(true);
  });

  it("give a fix for everything that is not ok", () => {
    const found = diagnose({ ...EMPTY, repriseApi: read({}) });
    expect(found.filter(({ grade, fix }) => grade !== "ok" && (fix ?? "") === "")).toEqual([]);
  });

  it("report what may not be read as unknown, and never as a failure", () => {
    const denied = { kind: "denied", reason: "forbidden" } as const;
    const facts = Object.fromEntries(
      Object.entries(EMPTY).map(([key, value]) => [key, value === ABSENT ? denied : value]),
    );
    const found = diagnose({ ...EMPTY, ...facts, repriseApi: served("groupepochs", "inplacerestarts") });
    expect(found.filter(({ grade }) => grade === "fail")).toEqual([]);
    expect(found.filter(({ message }) => message.includes("forbidden")).length).toBeGreaterThan(8);
  });

  it("are the sections of docs/doctor.md, each with what must hold", () => {
    const page = readFileSync("docs/doctor.md", "utf8");
    const sections = page
      .split(/\n### /)
      .slice(1)
      .map((section) => section.split("\n\n"))
      .map(([name = "", text = ""]) => [name, text.replaceAll("\n", " ")]);
    expect(sections).toEqual(CHECKS.map(({ name, describe: text }) => [name, text]));
  });
});

describe("single checks", () => {
  it.each([
    [
      { kind: "refused", reason: "spec.containers[0].restartPolicyRules[0].action: Unsupported value" },
      /^fail: .*refuses/,
    ],
    [{ kind: "answered", object: { spec: { containers: [{}] } }, warnings: [] }, /^fail: the API server drops/],
    [{ kind: "refused", reason: "exceeded quota" }, /^warn: unknown: .*exceeded quota/],
    [{ kind: "denied", reason: "no" }, /^warn: unknown/],
  ] as const)("restart-rules judges a Pod that was %j", (podProbe, verdict) => {
    expect(graded({ podProbe }, "restart-rules")).toEqual([expect.stringMatching(verdict)]);
  });

  it("node-features fails if no Linux node declares the feature, and leaves Windows nodes out", () => {
    const node = (name: string, operatingSystem: string) => ({
      metadata: { name },
      status: { nodeInfo: { operatingSystem, kubeletVersion: "v1.35.0" } },
    });
    const nodes = read([node("a", "linux"), node("w", "windows")]);
    expect(graded({ nodes }, "node-features")).toEqual([expect.stringMatching(/^fail: 1 of 1 .*: a \(kubelet v1\.35/)]);
  });

  it("crd names the CRD that is missing", () => {
    const repriseApi = served("inplacerestarts");
    expect(graded({ repriseApi }, "crd")).toEqual([
      "ok: InPlaceRestart has every field",
      "fail: the CRD GroupEpoch is not installed, so no group can restart",
    ]);
  });

  it("leader says that the last one has left", () => {
    const lease = read({ spec: { holderIdentity: "", renewTime: "2026-01-01T00:00:00Z", leaseDurationSeconds: 1 } });
    expect(graded({ repriseApi: read({}), lease }, "leader")).toEqual([expect.stringMatching(/^fail: .*has left$/)]);
  });

  it("webhook-answers fails if the dry-run JobSet is refused", () => {
    const jobSetProbe = { kind: "refused", reason: "failed calling webhook" } as const;
    const found = graded({ repriseApi: read({}), jobSetProbe, probeNamespace: "team" }, "webhook-answers");
    expect(found).toEqual(["fail: a dry-run JobSet in namespace team was refused: failed calling webhook"]);
  });

  it("versions compares this program with the record of the webhook", () => {
    const annotations = { "reprise.dev/status": '{"version":"0.0.9"}' };
    const object = { metadata: { annotations } };
    const found = graded({ repriseApi: read({}), jobSetProbe: { kind: "answered", object, warnings: [] } }, "versions");
    expect(found).toEqual(["warn: this program is version 0.1.0, the webhook is 0.0.9"]);
  });
});

describe("admission-policies", () => {
  const documents = ["policy-pods", "policy-binding"].flatMap((file) =>
    parseAllDocuments(readFileSync(`manifests/agent/${file}.yaml`, "utf8")).map((document) => asMap(document.toJS())),
  );
  const policies = read(documents.filter(({ kind }) => kind === "ValidatingAdmissionPolicy"));
  const bindings = documents.filter(({ kind }) => kind === "ValidatingAdmissionPolicyBinding");

  it("is ok with the policies and bindings of the manifests", () => {
    const policyBindings = read(bindings);
    expect(graded({ repriseApi: read({}), policies, policyBindings }, "admission-policies")).toEqual([
      "ok: reprise-pods and reprise-epoch-binding deny",
    ]);
  });

  it.each(bindings.map((each) => asText(asMap(each["metadata"])["name"])))("fails without binding %s", (name) => {
    const policyBindings = read(bindings.filter(({ metadata }) => asMap(metadata)["name"] !== name));
    expect(graded({ repriseApi: read({}), policies, policyBindings }, "admission-policies")).toEqual([
      expect.stringMatching(`^fail: no ValidatingAdmissionPolicyBinding ${name} lets policy`),
    ]);
  });
});

describe("the rights that are asked for", () => {
  it.each(["controller", "webhook"] as const)("are those of manifests/%s/rbac.yaml", (component) => {
    const account = `reprise-${component}` as const;
    const documents = parseAllDocuments(readFileSync(`manifests/${component}/rbac.yaml`, "utf8"));
    const granted = documents
      .map((document) => asMap(document.toJS()))
      .filter(({ kind }) => kind === "Role" || kind === "ClusterRole")
      .flatMap(({ kind, rules }) => asList(rules).map((rule) => ({ rule: asMap(rule), own: kind === "Role" })))
      .flatMap(({ rule, own }) => rightsOf(account, rule, own));
    const own = RIGHTS.filter((right) => right.account === account);
    expect(sorted(own)).toEqual(sorted(granted));
  });

  function rightsOf(account: Right["account"], rule: Readonly<Record<string, unknown>>, own: boolean): Right[] {
    const texts = (key: string) => asList(rule[key]).flatMap((each) => asText(each) ?? []);
    const names = texts("resourceNames");
    return texts("apiGroups").flatMap((group) =>
      texts("resources").flatMap((path) =>
        texts("verbs").flatMap((verb) =>
          (names.length === 0 ? [undefined] : names).map((name) => {
            const [resource = "", subresource] = path.split("/");
            return {
              account,
              group,
              resource,
              ...(subresource === undefined ? {} : { subresource }),
              verb,
              ...(name === undefined ? {} : { name }),
              ...(own ? { own } : {}),
            };
          }),
        ),
      ),
    );
  }

  function sorted(rights: readonly Right[]): readonly string[] {
    return rights.map((right) => JSON.stringify(right)).sort();
  }
});
