// The Grafana dashboard, from a table of panels. manifests/monitoring/dashboard.json is what Grafana imports.

export const DASHBOARD = "manifests/monitoring/dashboard.json";

type Kind = "stat" | "timeseries";

interface Panel {
  readonly title: string;
  readonly description: string;
  readonly kind: Kind;
  /** Of the 24 columns of a row. */
  readonly width: number;
  readonly unit?: string;
  readonly stacked?: boolean;
  /** The color from this value on; below the first one, green. */
  readonly thresholds?: readonly (readonly [value: number, color: "orange" | "red"])[];
  /** The legend of each query → PromQL. */
  readonly queries: Readonly<Record<string, string>>;
}

interface Row {
  readonly title: string;
  readonly height: number;
  readonly panels: readonly Panel[];
}

/** A quantile of a histogram, for each value of the labels. */
function quantile(fraction: number, histogram: string, ...labels: readonly string[]): string {
  const by = ["le", ...labels].join(", ");
  return `histogram_quantile(${fraction}, sum by (${by}) (rate(${histogram}_bucket[${RANGE}])))`;
}

const BAD_IF_ANY = [[1, "red"]] as const;
const RANGE = "$__rate_interval";

/** Seconds of all groups in a state, over the selected range. Every replica counts, so the largest is taken. */
function spentIn(state: string): string {
  return `increase(reprise_controller_group_seconds_total{state="${state}"}[$__range])`;
}

const NOT_SUSPENDED = 'increase(reprise_controller_group_seconds_total{state!="Suspended"}[$__range])';
const RESTARTS = "sum(increase(reprise_controller_restarts_total[$__range]))";

/** Only the leader counts, so counters are summed over the replicas. Every replica knows the gauges. */
const ROWS: readonly Row[] = [
  {
    title: "Now",
    height: 4,
    panels: [
      {
        title: "Groups that run",
        description: "Groups whose workers all run.",
        kind: "stat",
        width: 4,
        queries: { running: 'max(reprise_controller_groups{phase="Running"})' },
      },
      {
        title: "Groups that restart",
        description: "Groups between two epochs.",
        kind: "stat",
        width: 4,
        thresholds: [[1, "orange"]],
        queries: { restarting: 'max(reprise_controller_groups{phase="Restarting"})' },
      },
      {
        title: "Stalled groups",
        description: "Groups that have waited for Pods for more than a minute. `kubectl get ipr -A` names them.",
        kind: "stat",
        width: 4,
        thresholds: BAD_IF_ANY,
        queries: { stalled: "max(reprise_controller_stalled_groups)" },
      },
      {
        title: "Not injected",
        description: "JobSets that are opted in, but were created without injection.",
        kind: "stat",
        width: 4,
        thresholds: BAD_IF_ANY,
        queries: { jobsets: "max(reprise_controller_not_injected)" },
      },
      {
        title: "Leaders",
        description: "One controller leads. Without a leader, no restart is completed.",
        kind: "stat",
        width: 4,
        thresholds: [[2, "red"]],
        queries: { leaders: "sum(reprise_controller_leader)" },
      },
      {
        title: "Certificate expires in",
        description: "The serving certificate of the webhook. cert-manager renews it 30 days before.",
        kind: "stat",
        width: 4,
        unit: "s",
        queries: { certificate: "min(reprise_webhook_certificate_expiry_timestamp_seconds) - time()" },
      },
    ],
  },
  {
    title: "Restarts",
    height: 8,
    panels: [
      {
        title: "Groups by phase",
        description: "All groups whose JobSets exist.",
        kind: "timeseries",
        width: 8,
        stacked: true,
        queries: { "{{phase}}": "max by (phase) (reprise_controller_groups)" },
      },
      {
        title: "Restarts by cause",
        description: "Group restarts that reached the next epoch. Disruptions do not count towards the budget.",
        kind: "timeseries",
        width: 8,
        stacked: true,
        queries: { "{{cause}}": `sum by (cause) (increase(reprise_controller_restarts_total[${RANGE}])) > 0` },
      },
      {
        title: "Escalations and failed JobSets",
        description: "Failures that a restart in place does not mend. The same Pod may be on a broken node.",
        kind: "timeseries",
        width: 8,
        stacked: true,
        queries: { "{{action}}": `sum by (action) (increase(reprise_controller_escalations_total[${RANGE}]))` },
      },
      {
        title: "Recovery, median",
        description: "From the detected failure until all workers run, and its parts. The histogram ends at 10 s.",
        kind: "timeseries",
        width: 8,
        unit: "s",
        queries: {
          "{{part}}": quantile(0.5, "reprise_controller_recovery_seconds", "part"),
        },
      },
      {
        title: "Recovery, 90th percentile",
        description: "From the detected failure until all workers run, and its parts. The histogram ends at 10 s.",
        kind: "timeseries",
        width: 8,
        unit: "s",
        queries: {
          "{{part}}": quantile(0.9, "reprise_controller_recovery_seconds", "part"),
        },
      },
      {
        title: "Events",
        description: "Events about JobSets and Pods, by reason.",
        kind: "timeseries",
        width: 8,
        stacked: true,
        queries: { "{{reason}}": `sum by (reason) (increase(reprise_controller_events_total[${RANGE}])) > 0` },
      },
    ],
  },
  {
    title: "What restarts cost",
    height: 6,
    panels: [
      {
        title: "Availability",
        description: "The share of the time in which groups run, without the time in which they are suspended.",
        kind: "stat",
        width: 4,
        unit: "percentunit",
        queries: { availability: `max(${spentIn("Running")}) / sum(max by (state) (${NOT_SUSPENDED}))` },
      },
      {
        title: "Mean time between restarts",
        description: "Running time for each restart, over the selected range.",
        kind: "stat",
        width: 5,
        unit: "s",
        queries: { MTBF: `max(${spentIn("Running")}) / ${RESTARTS}` },
      },
      {
        title: "Mean time to recovery",
        description: "From the failure until every worker runs again, over the selected range.",
        kind: "stat",
        width: 5,
        unit: "s",
        queries: { MTTR: `max(${spentIn("Restarting")}) / ${RESTARTS}` },
      },
      {
        title: "Restarts by node of the blamed Pod",
        description: "Of the groups that exist. A node that stands out may be broken.",
        kind: "timeseries",
        width: 10,
        queries: { "{{node}}": "max by (node) (reprise_controller_blamed_restarts)" },
      },
    ],
  },
  {
    title: "Webhook",
    height: 8,
    panels: [
      {
        title: "Requests by outcome",
        description: "Admission requests per second.",
        kind: "timeseries",
        width: 8,
        stacked: true,
        unit: "reqps",
        queries: {
          "{{webhook}} {{outcome}}": `sum by (webhook, outcome) (rate(reprise_webhook_requests_total[${RANGE}])) > 0`,
        },
      },
      {
        title: "Skipped, by reason",
        description: "JobSets that pass without injection, and why.",
        kind: "timeseries",
        width: 8,
        stacked: true,
        queries: {
          "{{reason}}": `sum by (reason) (increase(reprise_webhook_requests_total{outcome="skipped"}[${RANGE}])) > 0`,
        },
      },
      {
        title: "Duration of requests",
        description: "From the headers of a request to the end of its response.",
        kind: "timeseries",
        width: 8,
        unit: "s",
        queries: {
          median: quantile(0.5, "reprise_webhook_request_duration_seconds"),
          "99th percentile": quantile(0.99, "reprise_webhook_request_duration_seconds"),
        },
      },
    ],
  },
  {
    title: "Controller",
    height: 8,
    panels: [
      {
        title: "Failed reconciles",
        description: "Each is retried. Conflicts are stale caches and resolve themselves.",
        kind: "timeseries",
        width: 6,
        queries: { "{{cause}}": `sum by (cause) (increase(reprise_controller_reconcile_failures_total[${RANGE}]))` },
      },
      {
        title: "Watches opened again",
        description: "API servers end watches every few minutes. Errors mean that the API server was not reachable.",
        kind: "timeseries",
        width: 6,
        queries: { "{{reason}}": `sum by (reason) (increase(reprise_controller_watch_reconnects_total[${RANGE}]))` },
      },
      {
        title: "Nodes and stuck Pods",
        description: "Pods on lost nodes are freed if they consent, and if not too many nodes are unreachable.",
        kind: "timeseries",
        width: 6,
        queries: {
          "unreachable nodes": "max(reprise_controller_unreachable_nodes)",
          "Pods freed": `sum(increase(reprise_controller_stuck_pods_freed_total[${RANGE}]))`,
        },
      },
      {
        title: "Memory",
        description: "Resident memory of each replica.",
        kind: "timeseries",
        width: 6,
        unit: "bytes",
        queries: { "{{pod}}": "reprise_process_resident_memory_bytes" },
      },
    ],
  },
];

const DATASOURCE = { type: "prometheus", uid: "$datasource" };

/** The file that Grafana imports. */
export function dashboard(): string {
  const panels: unknown[] = [];
  let y = 0;
  for (const { title, height, panels: row } of ROWS) {
    panels.push({
      id: panels.length + 1,
      type: "row",
      title,
      collapsed: false,
      panels: [],
      gridPos: place(0, y, 24, 1),
    });
    y += 1;
    let x = 0;
    for (const panel of row) {
      if (x + panel.width > 24) [x, y] = [0, y + height];
      panels.push({ id: panels.length + 1, ...grafanaPanel(panel), gridPos: place(x, y, panel.width, height) });
      x += panel.width;
    }
    y += height;
  }
  return `${JSON.stringify({ ...HEAD, panels }, null, 2)}\n`;
}

const HEAD = {
  title: "reprise",
  uid: "reprise",
  description: "Training jobs that restart in place: groups, restarts, and the health of reprise.",
  tags: ["reprise", "jobset"],
  editable: true,
  schemaVersion: 39,
  refresh: "30s",
  time: { from: "now-6h", to: "now" },
  templating: { list: [{ name: "datasource", label: "Data source", type: "datasource", query: "prometheus" }] },
};

function place(x: number, y: number, w: number, h: number) {
  return { x, y, w, h };
}

function grafanaPanel({ title, description, kind, unit, stacked, thresholds = [], queries }: Panel) {
  const steps = [{ color: "green", value: null }, ...thresholds.map(([value, color]) => ({ color, value }))];
  const drawn =
    kind === "timeseries"
      ? { custom: { fillOpacity: stacked ? 30 : 0, stacking: { mode: stacked ? "normal" : "none" } } }
      : { thresholds: { mode: "absolute", steps } };
  return {
    type: kind,
    title,
    description,
    datasource: DATASOURCE,
    fieldConfig: { defaults: { unit: unit ?? "short", ...(unit === undefined ? { decimals: 0 } : {}), ...drawn } },
    targets: Object.entries(queries).map(([legendFormat, expr], index) => {
      return { refId: String.fromCharCode(65 + index), datasource: DATASOURCE, expr, legendFormat };
    }),
  };
}
