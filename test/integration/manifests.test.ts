// The manifests that users apply, on a real API server: every overlay is accepted without a warning.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { asList, asMap, asText } from "../../src/json/fields.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane.ts";
import { applyManifests } from "../reprise-programs.ts";

type Manifest = Readonly<Record<string, unknown>>;

let cluster: ControlPlane;

beforeAll(async () => {
  cluster = await startControlPlane();
  await applyManifests(cluster.kubectl);
});

afterAll(() => cluster?.stop());

async function rendered(folder: string): Promise<readonly Manifest[]> {
  const text = await cluster.kubectl(["kustomize", `manifests/${folder}`]);
  return parseAllDocuments(text).map((document) => asMap(document.toJS()));
}

function nameOf({ metadata }: Manifest): string {
  return asText(asMap(metadata)["name"]) ?? "";
}

function ofKind(manifests: readonly Manifest[], kind: string): ReadonlyMap<string, Manifest> {
  return new Map(manifests.filter((one) => one["kind"] === kind).map((one) => [nameOf(one), one]));
}

function podOf(deployment: Manifest | undefined): Manifest {
  return asMap(asMap(asMap(asMap(deployment)["spec"])["template"])["spec"]);
}

describe.each(["default", "overlays/dev", "overlays/ha", "dashboard"])("manifests/%s", (folder) => {
  it("is accepted by the API server with every field, without a warning", async () => {
    // The install test covers cert-manager's kinds.
    const own = (await rendered(folder)).filter(
      ({ apiVersion }) => !asText(apiVersion)?.startsWith("cert-manager.io/"),
    );
    const input = own.map((one) => stringify(one)).join("---\n");
    const args = ["apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"];
    const said = (await cluster.kubectl(args, { input, withWarnings: true })).trim().split("\n");
    expect(said.filter((line) => !line.endsWith(" serverside-applied (server dry run)"))).toEqual([]);
    expect(said).toHaveLength(own.length);
  });

  it("contains no Secret and no CA", async () => {
    const manifests = await rendered(folder);
    expect([...ofKind(manifests, "Secret").keys()]).toEqual([]);
    expect(JSON.stringify(manifests)).not.toMatch(/caBundle|BEGIN [A-Z ]*(CERTIFICATE|KEY)/);
  });

  it("labels every object as part of reprise", async () => {
    const unmarked = (await rendered(folder)).filter(({ metadata }) => {
      return asMap(asMap(metadata)["labels"])["app.kubernetes.io/part-of"] !== "reprise";
    });
    expect(unmarked.map(nameOf)).toEqual([]);
  });
});

it.each(["default", "overlays/dev", "overlays/ha"])(
  "manifests/%s gives agents the image of the webhook",
  async (folder) => {
    const deployments = ofKind(await rendered(folder), "Deployment");
    const [container] = asList(podOf(deployments.get("reprise-webhook"))["containers"]).map(asMap);
    const image = asText(container?.["image"]) ?? "none";
    expect(asList(container?.["env"])).toContainEqual({ name: "REPRISE_AGENT_IMAGE", value: image });
    const [controller] = asList(podOf(deployments.get("reprise-controller"))["containers"]).map(asMap);
    expect(controller?.["image"]).toBe(image);
  },
);

it("manifests/dashboard is not part of an install, and may only list and watch", async () => {
  const installed = await rendered("default");
  expect([...ofKind(installed, "Deployment").keys()].toSorted()).toEqual(["reprise-controller", "reprise-webhook"]);
  const role = ofKind(await rendered("dashboard"), "ClusterRole").get("reprise-dashboard");
  const rules = asList(role?.["rules"]).map(asMap);
  expect(rules.flatMap(({ resources }) => asList(resources))).toEqual(["inplacerestarts", "jobsets", "pods"]);
  expect(new Set(rules.flatMap(({ verbs }) => asList(verbs)))).toEqual(new Set(["list", "watch"]));
});

it.each([
  ["default", 2, 2],
  ["overlays/dev", 1, 1],
  ["overlays/ha", 3, 2],
])("manifests/%s runs %i webhooks and %i controllers", async (folder, webhooks, controllers) => {
  const deployments = ofKind(await rendered(folder), "Deployment");
  const replicas = (name: string) => asMap(deployments.get(name)?.["spec"])["replicas"];
  expect([replicas("reprise-webhook"), replicas("reprise-controller")]).toEqual([webhooks, controllers]);
});

it("manifests/overlays/ha spreads replicas over nodes, gives them priority, and keeps two webhooks", async () => {
  const manifests = await rendered("overlays/ha");
  expect([...ofKind(manifests, "PriorityClass").keys()]).toEqual(["reprise"]);
  for (const deployment of ofKind(manifests, "Deployment").values()) {
    expect(podOf(deployment)).toMatchObject({ priorityClassName: "reprise" });
    expect(asList(podOf(deployment)["topologySpreadConstraints"])).toContainEqual(
      expect.objectContaining({
        topologyKey: "kubernetes.io/hostname",
        whenUnsatisfiable: "DoNotSchedule",
        maxSkew: 1,
      }),
    );
  }
  expect(ofKind(manifests, "PodDisruptionBudget").get("reprise-webhook")).toMatchObject({ spec: { minAvailable: 2 } });
});
