// A real Prometheus with the alerts of manifests/monitoring. It finds the Pods as docs/monitoring.md says, and scrapes
// them through the API server, because this machine has no route to their addresses.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { rulesFile } from "../../scripts/monitoring/rules.ts";
import { asList, asMap, asText, asTextMap } from "../../src/json/fields.ts";
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

export async function startPrometheus(folder: string, kubeconfig: string): Promise<RunningPrometheus> {
  const { prometheus } = await ensurePrometheus(terminalProgress());
  const port = await freePort();
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "rules.yaml"), rulesFile({ immediately: true }));
  writeFileSync(join(folder, "prometheus.yaml"), stringify(config(folder, kubeconfig)));
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

function config(folder: string, kubeconfig: string): object {
  const { clusters, users } = parse(readFileSync(kubeconfig, "utf8"));
  const { server, "certificate-authority-data": authority } = clusters[0].cluster;
  const { "client-certificate-data": certificate, "client-key-data": key } = users[0].user;
  const file = (name: string, base64: string) => {
    writeFileSync(join(folder, name), Buffer.from(base64, "base64"), { mode: 0o600 });
    return join(folder, name);
  };
  return {
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: [join(folder, "rules.yaml")],
    scrape_configs: [
      {
        job_name: "reprise",
        kubernetes_sd_configs: [
          { role: "pod", kubeconfig_file: kubeconfig, namespaces: { names: ["reprise-system"] } },
        ],
        scheme: "https",
        tls_config: {
          ca_file: file("ca.crt", authority),
          cert_file: file("client.crt", certificate),
          key_file: file("client.key", key),
        },
        relabel_configs: [
          { source_labels: ["__meta_kubernetes_pod_container_port_name"], regex: "health", action: "keep" },
          { source_labels: ["__meta_kubernetes_pod_name"], target_label: "pod" },
          {
            source_labels: [
              "__meta_kubernetes_namespace",
              "__meta_kubernetes_pod_name",
              "__meta_kubernetes_pod_container_port_number",
            ],
            regex: "(.+);(.+);(.+)",
            replacement: "/api/v1/namespaces/$1/pods/$2:$3/proxy/metrics",
            target_label: "__metrics_path__",
          },
          { replacement: new URL(server).host, target_label: "__address__" },
        ],
      },
    ],
  };
}
