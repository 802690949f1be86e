// A real Prometheus with the alerts of manifests/monitoring, for the Pods that the PodMonitor selects. It scrapes them
// through the API server, because this machine has no route to their addresses.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { rulesFile } from "../../scripts/monitoring/rules.ts";
import { asList, asMap, asText, asTextMap } from "../../src/json/fields.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Kubectl } from "../cluster/kubectl.ts";
import { childRunner, waitUntilReady } from "../cluster/processes.ts";
import { terminalProgress } from "../cluster/progress.ts";
import { ensurePrometheus } from "../cluster/prometheus.ts";
import { freePort } from "../free-port.ts";

export interface RunningPrometheus {
  /** The names of the alerts that fire. */
  firing(): Promise<readonly string[]>;
  /** The values of a query. */
  query(expr: string): Promise<readonly number[]>;
  stop(): Promise<void>;
}

/** Its files are kept in the state folder of the cluster. */
export async function startPrometheus({ stateDir, kubeconfig, kubectl }: Cluster): Promise<RunningPrometheus> {
  const folder = join(stateDir, "prometheus");
  const { prometheus } = await ensurePrometheus(terminalProgress());
  const port = await freePort();
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "rules.yaml"), rulesFile({ immediately: true }));
  writeFileSync(join(folder, "prometheus.yaml"), stringify(config(folder, kubeconfig, await metricsPaths(kubectl))));
  const program = await childRunner(folder).run("prometheus", [
    prometheus,
    `--config.file=${join(folder, "prometheus.yaml")}`,
    `--storage.tsdb.path=${join(folder, "data")}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]);
  const url = `http://127.0.0.1:${port}`;
  await waitUntilReady(program, 30_000, async () => (await fetch(`${url}/-/ready`)).ok);
  const query = async (expr: string) => {
    const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(expr)}`);
    return asList(asMap(asMap(await response.json())["data"])["result"]).map(asMap);
  };
  return {
    async firing() {
      const alerts = await query('ALERTS{alertstate="firing"}');
      return alerts.map(({ metric }) => asTextMap(metric)["alertname"] ?? "").sort();
    },
    query: async (expr) => (await query(expr)).map(({ value }) => Number(asText(asList(value)[1]))),
    stop: () => program.kill(),
  };
}

/** Where the API server has the metrics of each Pod that the PodMonitor selects, by the name of the Pod. */
async function metricsPaths(kubectl: Kubectl): Promise<ReadonlyMap<string, string>> {
  const { metadata, spec } = parse(readFileSync("manifests/monitoring/podmonitor.yaml", "utf8"));
  const { matchLabels, matchExpressions } = spec.selector;
  const selector = [
    ...Object.entries(asTextMap(matchLabels)).map(([key, value]) => `${key}=${value}`),
    ...asList(matchExpressions).map((each) => {
      const { key, operator, values } = asMap(each);
      return `${key} ${String(operator).toLowerCase()} (${asList(values).join()})`;
    }),
  ].join();
  const [{ port, path }] = spec.podMetricsEndpoints;
  const list = JSON.parse(await kubectl(["get", "pods", "-n", metadata.namespace, "-l", selector, "-o", "json"]));
  return new Map(
    asList(asMap(list)["items"]).map((item) => {
      const pod = asMap(item);
      const name = asText(asMap(pod["metadata"])["name"]) ?? "";
      const ports = asList(asMap(pod["spec"])["containers"]).flatMap((container) => asList(asMap(container)["ports"]));
      const number = asMap(ports.find((each) => asMap(each)["name"] === port))["containerPort"];
      return [name, `/api/v1/namespaces/${metadata.namespace}/pods/${name}:${number}/proxy${path}`];
    }),
  );
}

function config(folder: string, kubeconfig: string, paths: ReadonlyMap<string, string>): object {
  const { clusters, users } = parse(readFileSync(kubeconfig, "utf8"));
  const { server, "certificate-authority-data": authority } = clusters[0].cluster;
  const { "client-certificate-data": certificate, "client-key-data": key } = users[0].user;
  const file = (name: string, base64: string) => {
    writeFileSync(join(folder, name), Buffer.from(base64, "base64"), { mode: 0o600 });
    return join(folder, name);
  };
  const tls = {
    ca_file: file("ca.crt", authority),
    cert_file: file("client.crt", certificate),
    key_file: file("client.key", key),
  };
  return {
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: [join(folder, "rules.yaml")],
    scrape_configs: [...paths].map(([pod, path]) => ({
      job_name: pod,
      scheme: "https",
      tls_config: tls,
      metrics_path: path,
      static_configs: [{ targets: [new URL(server).host], labels: { pod } }],
    })),
  };
}
