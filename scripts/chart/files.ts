// The generated files of charts/reprise: a template for each manifest, the schema of the values, and the dashboard,
// which manifests/monitoring has too. The other files of the chart are written by hand.
import { readFileSync } from "node:fs";
import { DASHBOARD, dashboard } from "../monitoring/dashboard.ts";
import { type Edit, onlyIf, toTemplate } from "./template.ts";
import { valuesSchema } from "./values-schema.ts";

export const CHART = "charts/reprise";

interface Source {
  readonly edits?: readonly Edit[];
  /** The template is rendered only if this holds. */
  readonly condition?: string;
}

const IMAGE = '{{ include "reprise.image" . }}';
const SECRET = "{{ .Values.certificate.secretName }}";
const CERT_MANAGER = 'eq .Values.certificate.source "cert-manager"';

function block(value: string, indent: number): string {
  return `{{- toYaml ${value} | nindent ${indent} }}`;
}

function pod(program: string): readonly Edit[] {
  return [
    [
      `      serviceAccountName: reprise-${program}\n`,
      `      serviceAccountName: reprise-${program}\n` +
        `      {{- with include "reprise.placement" (list $ "${program}") }}\n` +
        "      {{- . | trim | nindent 6 }}\n      {{- end }}\n",
    ],
    [/(?<= image: )reprise:.+/, IMAGE],
    [/(?<=^ {10}resources:\n)(?: {12}.*\n)+/m, `            ${block(`.Values.${program}.resources`, 12)}\n`],
  ];
}

function deployment(program: string): readonly Edit[] {
  return [
    ["  replicas: 2\n", `  replicas: {{ .Values.${program}.replicas }}\n`],
    ...pod(program),
    [
      `            name: reprise-${program}-config\n`,
      `            name: reprise-${program}-config-{{ include "reprise.configHash" . }}\n`,
    ],
  ];
}

function disruptionBudget(program: string): readonly Edit[] {
  return [["  maxUnavailable: 1\n", `  ${block(`.Values.${program}.podDisruptionBudget`, 2)}\n`]];
}

/** cert-manager injects the authority; that of a provided certificate is in the values. */
const AUTHORITY: readonly Edit[] = [
  [
    "  annotations:\n    cert-manager.io/inject-ca-from: reprise-system/reprise-webhook\n",
    `  {{- if ${CERT_MANAGER} }}\n` +
      "  annotations:\n    cert-manager.io/inject-ca-from: reprise-system/reprise-webhook\n  {{- end }}\n",
  ],
  [
    "    clientConfig:\n",
    `    clientConfig:\n      {{- if not (${CERT_MANAGER}) }}\n` +
      "      caBundle: {{ .Values.certificate.caBundle | b64enc }}\n      {{- end }}\n",
  ],
];

/** The Prometheus operator selects by labels that only the user knows. */
function monitor(values: string, ...edits: readonly Edit[]): Source {
  const labels = `    {{- with ${values}.labels }}\n    {{- toYaml . | nindent 4 }}\n    {{- end }}\n`;
  const namespace = "  namespace: reprise-system\n";
  return { condition: `${values}.enabled`, edits: [[namespace, `${namespace}  labels:\n${labels}`], ...edits] };
}

const API_SERVER_PORTS =
  "        - protocol: TCP\n          port: 443\n        - protocol: TCP\n          port: 6443\n";
const ports =
  "        {{- range .Values.networkPolicy.apiServerPorts }}\n        - protocol: TCP\n          port: {{ . }}\n" +
  "        {{- end }}\n";

const DASHBOARD_ENABLED = ".Values.dashboard.enabled";

/** By the path under manifests/. */
const SOURCES: Readonly<Record<string, Source>> = {
  "crd/reprise.dev_groupepochs.yaml": { condition: ".Values.crds.install" },
  "crd/reprise.dev_inplacerestarts.yaml": { condition: ".Values.crds.install" },
  "default/viewer.yaml": {},
  "default/networkpolicy.yaml": {
    condition: ".Values.networkPolicy.enabled",
    edits: [
      // The webhook's, and then the controller's.
      [`${API_SERVER_PORTS}---\n`, `${ports}---\n`],
      [API_SERVER_PORTS, ports],
      ["port, add it here.", "port, set networkPolicy.apiServerPorts."],
    ],
  },
  "overlays/ha/priorityclass.yaml": {
    condition: ".Values.priorityClass.create",
    // The overlay adds no labels, so they are in the file.
    edits: [["  labels:\n    app.kubernetes.io/name: reprise\n    app.kubernetes.io/part-of: reprise\n", ""]],
  },
  "agent/clusterrole.yaml": {},
  "agent/flowschema.yaml": {},
  "agent/policy-binding.yaml": {},
  "agent/policy-pods.yaml": {},
  "monitoring/podmonitor.yaml": monitor(".Values.monitoring.podMonitor", [
    "interval: 30s",
    "interval: {{ .Values.monitoring.podMonitor.interval }}",
  ]),
  "monitoring/prometheusrule.yaml": monitor(".Values.monitoring.prometheusRule"),
  "controller/serviceaccount.yaml": {},
  "controller/rbac.yaml": {},
  "controller/flowschema.yaml": {},
  "controller/poddisruptionbudget.yaml": { edits: disruptionBudget("controller") },
  "controller/deployment.yaml": { edits: deployment("controller") },
  "dashboard/serviceaccount.yaml": { condition: DASHBOARD_ENABLED },
  "dashboard/rbac.yaml": { condition: DASHBOARD_ENABLED },
  "dashboard/service.yaml": { condition: DASHBOARD_ENABLED },
  "dashboard/networkpolicy.yaml": {
    condition: `and ${DASHBOARD_ENABLED} .Values.networkPolicy.enabled`,
    edits: [
      [API_SERVER_PORTS, ports],
      [
        "          port: http\n",
        "          port: http\n      {{- with .Values.dashboard.allowFrom }}\n      from:\n" +
          "        {{- toYaml . | nindent 8 }}\n      {{- end }}\n",
      ],
      [
        /: narrow `from` to them\. Egress: the API server, as in\n# /,
        ". See dashboard.allowFrom.\n# Egress: the API server, as in ",
      ],
    ],
  },
  "dashboard/deployment.yaml": {
    condition: DASHBOARD_ENABLED,
    edits: [
      ...pod("dashboard"),
      [
        "            - --address=\n",
        "            - --address=\n            {{- range .Values.dashboard.allowHosts }}\n" +
          "            - --allow-host={{ . }}\n            {{- end }}\n",
      ],
      [/add the name of\n +# your proxy with --allow-host\./, "see\n            # dashboard.allowHosts."],
    ],
  },
  "webhook/serviceaccount.yaml": {},
  "webhook/rbac.yaml": {},
  "webhook/service.yaml": {},
  "webhook/poddisruptionbudget.yaml": { edits: disruptionBudget("webhook") },
  "webhook/mutating.yaml": { edits: AUTHORITY },
  "webhook/validating.yaml": {
    edits: [
      ...AUTHORITY,
      ["    failurePolicy: Ignore\n", "    failurePolicy: {{ .Values.webhook.validationFailurePolicy }}\n"],
    ],
  },
  "webhook/authority.yaml": { condition: `and (${CERT_MANAGER}) (not .Values.certificate.issuerRef)` },
  "webhook/certificate.yaml": {
    condition: CERT_MANAGER,
    edits: [
      ["secretName: reprise-webhook-tls\n", `secretName: ${SECRET}\n`],
      [
        "    kind: Issuer\n    name: reprise-webhook-authority\n",
        "    {{- with .Values.certificate.issuerRef }}\n    {{- toYaml . | nindent 4 }}\n    {{- else }}\n" +
          "    kind: Issuer\n    name: reprise-webhook-authority\n    {{- end }}\n",
      ],
    ],
  },
  "webhook/deployment.yaml": {
    edits: [
      ...deployment("webhook"),
      ["manifests/default copies the webhook's own image here.", "The same as the webhook's own."],
      [/(?<=REPRISE_AGENT_IMAGE\n +value: ).+/, IMAGE],
      ["secretName: reprise-webhook-tls\n", `secretName: ${SECRET}\n`],
    ],
  },
};

/** Manifests of the default install that the chart has no template for, and why. */
export const WITHOUT_TEMPLATE: Readonly<Record<string, string>> = {
  "default/namespace.yaml": "Helm keeps its release in the namespace, so the namespace exists before the chart does",
};

/** The content of each generated file, by its path. */
export function chartFiles(): ReadonlyMap<string, string> {
  const templates = Object.entries(SOURCES).map(([path, { edits = [], condition }]) => {
    const template = toTemplate(readFileSync(`manifests/${path}`, "utf8"), edits);
    const note = `{{- /* From manifests/${path} by scripts/chart.ts, do not edit. */}}\n`;
    return [
      `${CHART}/templates/${path}`,
      note + (condition === undefined ? template : onlyIf(condition, template)),
    ] as const;
  });
  return new Map([
    ...templates,
    [`${CHART}/values.schema.json`, `${JSON.stringify(valuesSchema(), null, 2)}\n`],
    [`${CHART}/files/dashboard.json`, dashboard()],
    [DASHBOARD, dashboard()],
  ]);
}
