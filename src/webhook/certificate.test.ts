import { expect, test } from "vitest";
import { checkPair } from "./certificate.ts";
import { issue } from "./testing.ts";

const now = new Date();

test("a matching pair is accepted, with its expiry", () => {
  const notAfter = new Date("2040-01-01T00:00:00Z");
  const { cert, key } = issue({ notAfter });
  expect(checkPair(cert, key, now)).toEqual({ cert, key, notAfter });
});

test.each<[string, () => { cert: string; key: string }, RegExp]>([
  ["a key of another certificate", () => ({ cert: issue().cert, key: issue().key }), /does not match the certificate/],
  ["an empty certificate", () => ({ ...issue(), cert: "" }), /tls\.crt cannot be parsed/],
  ["a truncated certificate", () => ({ ...issue(), cert: issue().cert.slice(0, 200) }), /tls\.crt cannot be parsed/],
  ["a truncated key", () => ({ ...issue(), key: issue().key.slice(0, 60) }), /tls\.key cannot be parsed/],
  ["a key in place of the certificate", () => ({ ...issue(), cert: issue().key }), /tls\.crt cannot be parsed/],
  ["an expired certificate", () => issue({ notAfter: new Date(now.getTime() - 1_000) }), /expired at/],
])("%s is rejected", (_what, pair, message) => {
  const { cert, key } = pair();
  expect(() => checkPair(cert, key, now)).toThrow(message);
});

test("a valid leaf before a broken chain is rejected", () => {
  const { cert, key } = issue();
  const chain = `${cert}\n-----BEGIN CERTIFICATE-----\nbm90IGEgY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n`;
  expect(() => checkPair(chain, key, now)).toThrow(/tls\.crt cannot be parsed/);
});
