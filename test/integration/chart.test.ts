// The Helm chart, rendered by the real helm: the same objects as the manifests, and the API server accepts them.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, parseAllDocuments, stringify } from "yaml";
import { asList, asMap, asText, asTextMap } from "../../src/json/fields.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane.ts";
import { type Helm, helmFor } from "../cluster/helm.ts";
import { createAuthority } from "../cluster/pki.ts";
import { applyManifests } from "../reprise-programs.ts";

type Manifest = Readonly<Record<string, unknown>>;

const CHART = "charts/reprise";

let cluster: ControlPlane;
let helm: Helm;

beforeAll(async () => {
  [cluster, helm] = await Promise.all([startControlPlane(), helmFor()]);
  await applyManifests(cluster.kubectl);
}, 600_000);

afterAll(() => cluster?.stop());

function parsed(text: string): readonly Manifest[] {
  // YAML 1.1, as helm and kubectl read it: 0440 is octal.
  return parseAllDocuments(text, { version: "1.1" })
    .map((document) => asMap(document.toJS()))
    .filter((manifest) => manifest["kind"] !== undefined);
}

/** What helm renders. Flags of the version are those of the API server in the tests. */
async function rendered(values: unknown = {}, ...flags: readonly string[]): Promise<readonly Manifest[]> {
  const fixed = ["template", "reprise", CHART, "--kube-version=1.36.3", "--values=-"];
  const namespace = flags.some((flag) => flag.startsWith("--namespace")) ? [] : ["--namespace=reprise-system"];
  return parsed(await helm([...fixed, ...namespace, ...flags], stringify(values)));
}

async function kustomized(folder: string): Promise<readonly Manifest[]> {
  return parsed(await cluster.kubectl(["kustomize", `manifests/${folder}`]));
}

/** By kind and name. Hashes in the names of ConfigMaps differ, and their files are compared as YAML. */
function byName(manifests: readonly Manifest[]): Readonly<Record<string, unknown>> {
  const named = manifests.map((manifest) => {
    const text = JSON.stringify(manifest).replaceAll(/(reprise-\w+-config)-[a-z0-9]{10}"/g, '$1"');
    const { data, ...rest } = JSON.parse(text);
    const files = Object.entries(asTextMap(data)).map(([file, content]) => [file, parse(content)]);
    const { name, namespace = "" } = rest.metadata;
    return [
      `${rest.kind} ${namespace}/${name}`,
      data === undefined ? rest : { ...rest, data: Object.fromEntries(files) },
    ];
  });
  expect(new Set(named.map(([name]) => name)).size).toBe(named.length);
  return Object.fromEntries(named);
}

function named(manifests: readonly Manifest[], kind: string, name: string): Manifest {
  const found = manifests.find((one) => one["kind"] === kind && asMap(one["metadata"])["name"] === name);
  if (found === undefined) throw new Error(`no ${kind} ${name}`);
  return found;
}

function withoutNamespace(manifests: readonly Manifest[]): readonly Manifest[] {
  // Helm keeps its release in the namespace, so it creates the namespace itself.
  return manifests.filter(({ kind }) => kind !== "Namespace");
}

describe("charts/reprise", () => {
  it("renders the objects of manifests/default", async () => {
    const expected = byName(withoutNamespace(await kustomized("default")));
    expect(Object.keys(expected).length).toBeGreaterThan(25);
    expect(byName(await rendered())).toEqual(expected);
  });

  it("renders the objects of manifests/overlays/ha with values-ha.yaml", async () => {
    const expected = byName(withoutNamespace(await kustomized("overlays/ha")));
    expect(byName(await rendered({}, `--values=${CHART}/values-ha.yaml`))).toEqual(expected);
  });

  it("renders the objects of manifests/dashboard besides, if the dashboard is enabled", async () => {
    const expected = { ...byName(await rendered()), ...byName(await kustomized("dashboard")) };
    const withDashboard = byName(await rendered({ dashboard: { enabled: true } }));
    expect(withDashboard).toEqual(expected);
    expect(Object.keys(withDashboard).filter((name) => name.includes("reprise-dashboard"))).toHaveLength(6);
  });

  it("passes helm lint", async () => {
    expect(await helm(["lint", "--strict", CHART])).toContain("0 chart(s) failed");
  });

  it("names no other namespace than that of the release, and keeps the Lease there", async () => {
    const manifests = await rendered({}, "--namespace=elsewhere");
    expect(stringify(manifests)).not.toContain("reprise-system");
    const config = manifests.find(({ metadata }) => asText(asMap(metadata)["name"])?.includes("controller-config"));
    expect(parse(asTextMap(config?.["data"])["config.yaml"] ?? "")).toEqual({
      logLevel: "info",
      controller: { leaderElection: { namespace: "elsewhere" } },
    });
  });

  it("rolls the Pods when a setting changes", async () => {
    const volume = async (config: Manifest) => {
      const { spec } = named(await rendered({ config }), "Deployment", "reprise-controller");
      const [first] = asList(asMap(asMap(asMap(spec)["template"])["spec"])["volumes"]);
      return asMap(asMap(first)["configMap"])["name"];
    };
    const [before, after] = [await volume({}), await volume({ injection: { defaultMaxRestarts: 3 } })];
    expect(before).not.toBe(after);
    const names = (await rendered({ config: { injection: { defaultMaxRestarts: 3 } } })).map(({ metadata }) => {
      return asMap(metadata)["name"];
    });
    expect(names).toContain(after);
  });

  it("uses a certificate of yours without cert-manager", async () => {
    const caBundle = createAuthority("test").cert;
    const certificate = { source: "secret", secretName: "mine", caBundle };
    const manifests = await rendered({ certificate });
    expect(manifests.filter(({ apiVersion }) => asText(apiVersion)?.startsWith("cert-manager.io/"))).toEqual([]);
    expect(stringify(manifests)).not.toContain("cert-manager.io/inject-ca-from");
    for (const kind of ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]) {
      const [webhook] = asList(named(manifests, kind, "reprise-webhook")["webhooks"]).map(asMap);
      const bundle = asText(asMap(webhook?.["clientConfig"])["caBundle"]) ?? "";
      expect(Buffer.from(bundle, "base64").toString()).toBe(caBundle);
    }
    expect(stringify(named(manifests, "Deployment", "reprise-webhook"))).toContain("secretName: mine");
  });

  it("uses an issuer of yours instead of a self-signed authority", async () => {
    const manifests = await rendered({ certificate: { issuerRef: { kind: "ClusterIssuer", name: "corporate" } } });
    const names = manifests.map(({ kind, metadata }) => `${kind} ${asMap(metadata)["name"]}`);
    expect(names.filter((name) => /^(Issuer|Certificate) /.test(name))).toEqual(["Certificate reprise-webhook"]);
    expect(named(manifests, "Certificate", "reprise-webhook")).toMatchObject({
      spec: { issuerRef: { kind: "ClusterIssuer", name: "corporate" } },
    });
  });

  it("is accepted by the API server with other values, with every field and without a warning", async () => {
    const program = {
      replicas: 3,
      resources: {},
      podDisruptionBudget: { maxUnavailable: null, minAvailable: 1 },
      priorityClassName: "reprise",
      nodeSelector: { pool: "system" },
      tolerations: [{ key: "system", operator: "Exists" }],
    };
    const manifests = await rendered({
      image: { repository: "registry.example/reprise", digest: `sha256:${"0".repeat(64)}` },
      imagePullSecrets: [{ name: "registry" }],
      certificate: { source: "secret", caBundle: createAuthority("test").cert },
      webhook: { ...program, validationFailurePolicy: "Fail" },
      controller: program,
      priorityClass: { create: true },
      dashboard: {
        enabled: true,
        allowHosts: ["board.example.com"],
        allowFrom: [{ namespaceSelector: { matchLabels: { app: "proxy" } } }],
        resources: {},
        nodeSelector: { pool: "system" },
      },
      networkPolicy: { apiServerPorts: [8443] },
      config: { logLevel: "debug", injection: { agentResources: "none" }, stuckPods: { enabled: false } },
    });
    const input = manifests.map((one) => stringify(one)).join("---\n");
    const args = ["apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"];
    const said = (await cluster.kubectl(args, { input, withWarnings: true })).trim().split("\n");
    expect(said.filter((line) => !line.endsWith(" serverside-applied (server dry run)"))).toEqual([]);
    expect(said).toHaveLength(manifests.length);
    const pod = stringify(named(manifests, "Deployment", "reprise-webhook"));
    for (const set of ["nodeSelector", "tolerations", "priorityClassName", "imagePullSecrets", "@sha256:0000"]) {
      expect(pod).toContain(set);
    }
    const dashboard = stringify(named(manifests, "Deployment", "reprise-dashboard"));
    for (const set of ["--allow-host=board.example.com", "nodeSelector", "imagePullSecrets", "@sha256:0000"]) {
      expect(dashboard).toContain(set);
    }
    const { spec } = named(manifests, "NetworkPolicy", "reprise-dashboard");
    expect(asList(asMap(spec)["ingress"])).toMatchObject([{ from: [{ namespaceSelector: {} }] }]);
  });

  it("leaves out what is turned off", async () => {
    const kinds = (await rendered({ crds: { install: false }, networkPolicy: { enabled: false } })).map(
      ({ kind }) => kind,
    );
    expect(kinds).not.toContain("CustomResourceDefinition");
    expect(kinds).not.toContain("NetworkPolicy");
  });

  it.each([
    ["a misspelled value", { webhok: {} }, "webhok"],
    ["a misspelled value of the dashboard", { dashboard: { allowHost: [] } }, "allowHost"],
    ["a misspelled setting", { config: { injection: { defaultMaxRestart: 1 } } }, "defaultMaxRestart"],
    ["a setting out of range", { config: { controller: { escalateAfter: -1 } } }, "/config/controller/escalateAfter"],
    ["a setting that the chart sets itself", { config: { webhook: { port: 1 } } }, "port"],
    ["a provided certificate without its authority", { certificate: { source: "secret" } }, "/certificate/caBundle"],
  ])("refuses %s", async (_, values, problem) => {
    await expect(rendered(values)).rejects.toThrow(problem);
  });
});
