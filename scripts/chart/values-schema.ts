// The JSON schema of the chart's values. Settings under `config` come from the schema of the config file.
import { z } from "zod";
import { configSchema, settingTexts } from "../../src/config/config-schema.ts";

type Schema = Readonly<Record<string, unknown>>;

/** Settings that the chart sets itself, because a Deployment, a Service or a Role has to fit them. */
const SET_BY_CHART: readonly (readonly [section: string, setting: string])[] = [
  ["injection", "agentImage"],
  ["webhook", "port"],
  ["webhook", "healthPort"],
  ["webhook", "certDir"],
  ["controller", "healthPort"],
  ["controller", "leaderElection"],
];

const text: Schema = { type: "string" };
const name: Schema = { type: "string", minLength: 1 };
const flag: Schema = { type: "boolean" };
const texts: Schema = { type: "object", additionalProperties: text };
const anyMap: Schema = { type: "object" };
const anyMaps: Schema = { type: "array", items: anyMap };
const countOrPercentage: Schema = { type: ["integer", "string", "null"], minimum: 0 };

function map(properties: Readonly<Record<string, Schema>>, more: Schema = {}): Schema {
  return { type: "object", properties, additionalProperties: false, ...more };
}

const pod: Readonly<Record<string, Schema>> = {
  resources: anyMap,
  priorityClassName: text,
  nodeSelector: texts,
  tolerations: anyMaps,
  topologySpreadConstraints: anyMaps,
};

const program: Readonly<Record<string, Schema>> = {
  ...pod,
  replicas: { type: "integer", minimum: 0 },
  podDisruptionBudget: map({ maxUnavailable: countOrPercentage, minAvailable: countOrPercentage }),
};

const monitor = { enabled: flag, labels: texts };

export function valuesSchema(): Schema {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Values of the chart reprise",
    ...map({
      image: map({ repository: name, tag: text, digest: { type: "string", pattern: "^(sha256:[0-9a-f]{64})?$" } }),
      imagePullSecrets: { type: "array", items: map({ name }, { required: ["name"] }) },
      crds: map({ install: flag }),
      certificate: map(
        {
          source: { enum: ["cert-manager", "secret"] },
          issuerRef: map({ group: name, kind: { enum: ["Issuer", "ClusterIssuer"] }, name }),
          secretName: name,
          caBundle: text,
        },
        {
          if: { properties: { source: { const: "secret" } } },
          // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON schema
          then: { properties: { caBundle: { pattern: "^-----BEGIN CERTIFICATE-----" } }, required: ["caBundle"] },
        },
      ),
      webhook: map({ ...program, validationFailurePolicy: { enum: ["Ignore", "Fail"] } }),
      controller: map(program),
      dashboard: map({ ...pod, enabled: flag, allowHosts: { type: "array", items: name }, allowFrom: anyMaps }),
      priorityClass: map({ create: flag }),
      networkPolicy: map({
        enabled: flag,
        apiServerPorts: { type: "array", minItems: 1, items: { type: "integer", minimum: 1, maximum: 65_535 } },
      }),
      monitoring: map({
        podMonitor: map({ ...monitor, interval: { type: "string", pattern: "^[0-9]+(ms|s|m)$" } }),
        prometheusRule: map(monitor),
        dashboard: map(monitor),
      }),
      config: settings(),
      // Helm itself sets it for a chart that is a dependency of another one.
      global: anyMap,
    }),
  };
}

/** The settings of both programs, each with its description. */
function settings(): Schema {
  const schema = z.toJSONSchema(configSchema, {
    io: "input",
    override: ({ zodSchema, jsonSchema }) => {
      const described = settingTexts.get(zodSchema);
      if (described !== undefined) jsonSchema.description = described.description;
      // A default that is shown here would not be a default of the chart.
      delete jsonSchema.default;
    },
  });
  delete schema.$schema;
  for (const [section, setting] of SET_BY_CHART) {
    const part = schema.properties?.[section];
    if (typeof part !== "object" || part.properties?.[setting] === undefined) {
      throw new Error(`the config has no setting ${section}.${setting}`);
    }
    delete part.properties[setting];
  }
  return { ...schema };
}
