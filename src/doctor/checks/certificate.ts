// cert-manager, the certificate of the webhook, and the authority that the API server trusts. Pure.
import { asList, asMap, asText, type Fields } from "../../json/fields.ts";
import type { Facts } from "../facts.ts";
import { APPLY, type Check, fail, judgeRead, ok, type Verdict, warn } from "../finding.ts";
import { webhooksOf } from "./webhook.ts";

const DAY_MS = 86_400_000;
/** cert-manager renews 30 days before the end. Half of that is time to notice that it does not. */
const LEAST_DAYS = 14;

const INSTALL = "https://github.com/cert-manager/cert-manager/releases/latest/download/cert-manager.yaml";

export const certManager: Check = {
  name: "cert-manager",
  describe: "cert-manager is installed, or the webhooks have a caBundle from elsewhere.",
  scope: "cluster",
  judge(facts) {
    return judgeRead(
      facts.certManager,
      "the API groups",
      () =>
        hasBundle(facts)
          ? [ok("not installed; the webhooks have a caBundle from elsewhere")]
          : [fail("cert-manager is not installed, so the webhook gets no certificate", `kubectl apply -f ${INSTALL}`)],
      () => [ok("cert-manager is served")],
    );
  },
};

function hasBundle({ mutatingWebhooks }: Facts): boolean {
  return webhooksOf(mutatingWebhooks).some(({ caBundle }) => caBundle);
}

export const certificate: Check = {
  name: "certificate",
  describe: `The certificate of the webhook is issued and does not expire within ${LEAST_DAYS} days.`,
  scope: "installation",
  judge(facts) {
    const { certificate: issued, systemNamespace, now } = facts;
    const describe = `kubectl describe certificate -n ${systemNamespace} reprise-webhook`;
    return judgeRead(
      issued,
      "Certificates",
      () =>
        facts.certManager.kind === "read" && !hasBundle(facts)
          ? [fail("there is no Certificate reprise-webhook", APPLY)]
          : [],
      (object) => {
        const ready = asList(asMap(object["status"])["conditions"])
          .map(asMap)
          .find(({ type }) => type === "Ready");
        if (ready?.["status"] !== "True") {
          const reason = asText(ready?.["message"]) ?? "cert-manager has not looked at it yet";
          return [fail(`the certificate of the webhook is not issued: ${reason}`, describe)];
        }
        return judgeExpiry("the certificate of the webhook", expiryOf(object), now, RENEW(systemNamespace));
      },
    );
  },
};

const RENEW = (namespace: string) => `cmctl renew -n ${namespace} reprise-webhook`;

function expiryOf(object: Fields): string {
  return asText(asMap(object["status"])["notAfter"]) ?? "";
}

export const authority: Check = {
  name: "authority",
  describe: "The authority in the caBundle of the webhooks has not expired. Otherwise the API server calls neither.",
  scope: "installation",
  judge: ({ authorityExpires, now, systemNamespace }) =>
    authorityExpires === undefined
      ? []
      : judgeExpiry(
          "the authority that the API server trusts",
          authorityExpires,
          now,
          `cmctl renew -n ${systemNamespace} reprise-webhook-authority`,
        ),
};

function judgeExpiry(what: string, notAfter: string, now: number, fix: string): readonly Verdict[] {
  const days = Math.floor((Date.parse(notAfter) - now) / DAY_MS);
  if (Number.isNaN(days)) return [warn(`unknown: ${what} has no date of expiry`, fix)];
  if (days < 0) return [fail(`${what} has expired on ${notAfter}`, fix)];
  if (days < LEAST_DAYS) return [warn(`${what} expires on ${notAfter}, and was not renewed`, fix)];
  return [ok(`${what} is valid until ${notAfter}`)];
}
