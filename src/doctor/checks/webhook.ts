// The webhook: registered, trusted, with replicas behind it, and answering through the API server. Pure.
import { LABEL } from "../../api/names.ts";
import { asList, asMap, asText, asTextMap } from "../../json/fields.ts";
import type { Facts, Reading } from "../facts.ts";
import { APPLY, type Check, fail, ok, type Verdict, warn } from "../finding.ts";

interface Registered {
  readonly name: string;
  readonly caBundle: string;
  readonly service: boolean;
  readonly failurePolicy: string;
}

/** The webhooks of a configuration; none if it is absent or may not be read. */
export function webhooksOf(configuration: Reading<Readonly<Record<string, unknown>>>): readonly Registered[] {
  if (configuration.kind !== "read") return [];
  return asList(configuration.value["webhooks"]).map((webhook) => {
    const { name, clientConfig, failurePolicy } = asMap(webhook);
    const { caBundle, service } = asMap(clientConfig);
    return {
      name: asText(name) ?? "",
      caBundle: asText(caBundle) ?? "",
      service: service !== undefined,
      failurePolicy: asText(failurePolicy) ?? "",
    };
  });
}

export const webhookRegistered: Check = {
  name: "webhook-registered",
  describe:
    "Both webhook configurations exist and have a caBundle. The API server calls no webhook that it cannot trust.",
  scope: "installation",
  judge(facts) {
    return [
      ...registered("MutatingWebhookConfiguration", facts.mutatingWebhooks, "no JobSet is injected", facts),
      ...registered("ValidatingWebhookConfiguration", facts.validatingWebhooks, "no JobSet is checked", facts),
    ];
  },
};

const INJECTOR_LOG = "kubectl logs -n cert-manager deployment/cert-manager-cainjector";

function registered(
  kind: string,
  configuration: Facts["mutatingWebhooks"],
  effect: string,
  { certManager, systemNamespace }: Facts,
): readonly Verdict[] {
  const name = `${kind} reprise-webhook`;
  if (configuration.kind === "denied")
    return [warn(`unknown: you may not read ${kind}s`, "run it as an account with that right")];
  if (configuration.kind === "absent") return [fail(`there is no ${name}, so ${effect}`, APPLY)];
  const untrusted = webhooksOf(configuration).filter(({ caBundle }) => caBundle === "");
  if (untrusted.length === 0) return [ok(`${name} has a caBundle`)];
  const fix =
    certManager.kind === "read"
      ? `kubectl describe certificate -n ${systemNamespace}; ${INJECTOR_LOG}`
      : "install cert-manager, or set clientConfig.caBundle yourself";
  return [fail(`${name} has no caBundle, so ${effect}`, fix)];
}

export const webhookEndpoints: Check = {
  name: "webhook-endpoints",
  describe: "The Service of the webhook has a ready Pod behind it.",
  scope: "installation",
  judge({ mutatingWebhooks, endpoints, systemNamespace }) {
    // Registered by URL: there is no Service to look at.
    if (!webhooksOf(mutatingWebhooks).some(({ service }) => service) || endpoints.kind === "denied") return [];
    const slices = endpoints.kind === "read" ? endpoints.value : [];
    const ready = slices
      .flatMap((slice) => asList(slice["endpoints"]))
      .filter((endpoint) => asMap(asMap(endpoint)["conditions"])["ready"] !== false);
    if (ready.length > 0) return [ok(`${ready.length} Pods of the webhook are ready`)];
    const fix = `kubectl get pods -n ${systemNamespace} -l app.kubernetes.io/component=webhook`;
    return [fail("no Pod of the webhook is ready, so no JobSet is injected", fix)];
  },
};

export const webhookAnswers: Check = {
  name: "webhook-answers",
  describe: "A dry-run JobSet in an opted-in namespace comes back injected, so the API server reaches the webhook.",
  scope: "installation",
  judge({ jobSetProbe, probeNamespace = "", systemNamespace }) {
    const where = `in namespace ${probeNamespace}`;
    switch (jobSetProbe.kind) {
      case "answered": {
        const labels = asTextMap(asMap(jobSetProbe.object["metadata"])["labels"]);
        if (labels[LABEL.injected] === "true") return [ok(`a dry-run JobSet ${where} comes back injected`)];
        const said = jobSetProbe.warnings.length === 0 ? "" : `: ${jobSetProbe.warnings.join("; ")}`;
        const message = `a dry-run JobSet ${where} comes back without injection${said}`;
        return [fail(message, `kubectl logs -n ${systemNamespace} deployment/reprise-webhook`)];
      }
      case "refused":
        return [fail(`a dry-run JobSet ${where} was refused: ${jobSetProbe.reason}`, "fix what the message names")];
      case "denied":
        return [warn(`unknown: you may not create JobSets ${where}`, "pass -n with a namespace where you may")];
      case "not-tried":
        return [];
    }
  },
};
