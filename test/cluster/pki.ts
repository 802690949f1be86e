// A small certificate authority for tests and demos. It encodes certificates as DER by hand, ECDSA P-256 by default:
// node:crypto can sign but not build a certificate, and not every machine has `openssl`.
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

export interface KeyPair {
  /** PEM. */
  readonly cert: string;
  /** PEM: PKCS #8, and PKCS #1 for RSA. */
  readonly key: string;
}

export interface CertificateRequest {
  readonly commonName: string;
  readonly organization?: string;
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly notBefore?: Date;
  readonly notAfter?: Date;
}

export interface Authority extends KeyPair {
  issue(request: CertificateRequest): KeyPair;
}

const HOUR_MS = 3_600_000;

const OID = {
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  rsaWithSha256: "1.2.840.113549.1.1.11",
  commonName: "2.5.4.3",
  organization: "2.5.4.10",
  basicConstraints: "2.5.29.19",
  keyUsage: "2.5.29.15",
  extendedKeyUsage: "2.5.29.37",
  subjectAlternativeName: "2.5.29.17",
  subjectKeyIdentifier: "2.5.29.14",
  authorityKeyIdentifier: "2.5.29.35",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
} as const;

interface AuthorityOptions {
  /** Of its own certificate. */
  readonly dnsNames?: readonly string[];
  /** Some programs read only the keys of RSA authorities. */
  readonly rsa?: boolean;
}

export function createAuthority(commonName: string, { dnsNames = [], rsa = false }: AuthorityOptions = {}): Authority {
  const keys = rsa ? generateKeyPairSync("rsa", { modulusLength: 2048 }) : generateKeys();
  const cert = certificate({ commonName, dnsNames }, keys.publicKey, { name: { commonName }, keys, isAuthority: true });
  return {
    cert,
    key: pem(keys.privateKey, rsa ? "pkcs1" : "pkcs8"),
    issue(request) {
      const leaf = generateKeys();
      const issued = certificate(request, leaf.publicKey, { name: { commonName }, keys, isAuthority: false });
      return { cert: issued, key: pem(leaf.privateKey) };
    },
  };
}

interface Keys {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

interface Issuer {
  readonly name: { readonly commonName: string };
  readonly keys: Keys;
  readonly isAuthority: boolean;
}

function generateKeys(): Keys {
  return generateKeyPairSync("ec", { namedCurve: "P-256" });
}

function pem(key: KeyObject, type: "pkcs1" | "pkcs8" = "pkcs8"): string {
  return key.export({ type, format: "pem" }).toString();
}

function certificate(request: CertificateRequest, publicKey: KeyObject, issuer: Issuer): string {
  // An hour of tolerance, because the clocks of containers and hosts may differ.
  const notBefore = request.notBefore ?? new Date(Date.now() - HOUR_MS);
  const notAfter = request.notAfter ?? new Date(Date.now() + 365 * 24 * HOUR_MS);
  const isRsa = issuer.keys.privateKey.asymmetricKeyType === "rsa";
  const signature = isRsa ? sequence(oid(OID.rsaWithSha256), NULL) : sequence(oid(OID.ecdsaWithSha256));
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    signature,
    distinguishedName(issuer.name),
    sequence(time(notBefore), time(notAfter)),
    distinguishedName(request),
    publicKey.export({ type: "spki", format: "der" }),
    explicit(3, sequence(...extensions(request, publicKey, issuer))),
  );
  const der = sequence(body, signature, bitString(sign("sha256", body, issuer.keys.privateKey)));
  const base64 = der.toString("base64").replace(/.{64}/g, "$&\n").trimEnd();
  return `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`;
}

function extensions(request: CertificateRequest, publicKey: KeyObject, issuer: Issuer): Buffer[] {
  const usage = issuer.isAuthority ? Buffer.from([1, 0x06]) : Buffer.from([5, 0xa0]);
  const list = [
    extension(
      OID.basicConstraints,
      issuer.isAuthority ? sequence(tagged(0x01, Buffer.from([0xff]))) : sequence(),
      true,
    ),
    extension(OID.keyUsage, tagged(0x03, usage), true),
    extension(OID.subjectKeyIdentifier, tagged(0x04, keyIdentifier(publicKey))),
    extension(OID.authorityKeyIdentifier, sequence(tagged(0x80, keyIdentifier(issuer.keys.publicKey)))),
  ];
  if (!issuer.isAuthority) {
    list.push(extension(OID.extendedKeyUsage, sequence(oid(OID.serverAuth), oid(OID.clientAuth))));
  }
  const names = [
    ...(request.dnsNames ?? []).map((name) => tagged(0x82, Buffer.from(name, "ascii"))),
    ...(request.ipAddresses ?? []).map((address) => tagged(0x87, Buffer.from(address.split(".").map(Number)))),
  ];
  if (names.length > 0) list.push(extension(OID.subjectAlternativeName, sequence(...names)));
  return list;
}

function extension(id: string, value: Buffer, critical = false): Buffer {
  const flag = critical ? [tagged(0x01, Buffer.from([0xff]))] : [];
  return sequence(oid(id), ...flag, tagged(0x04, value));
}

function keyIdentifier(publicKey: KeyObject): Buffer {
  return createHash("sha1")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest();
}

function distinguishedName(name: { commonName: string; organization?: string }): Buffer {
  const part = (id: string, text: string) => tagged(0x31, sequence(oid(id), tagged(0x0c, Buffer.from(text))));
  const parts = name.organization === undefined ? [] : [part(OID.organization, name.organization)];
  return sequence(...parts, part(OID.commonName, name.commonName));
}

function tagged(tag: number, content: Buffer): Buffer {
  const size = content.length;
  if (size < 0x80) return Buffer.concat([Buffer.from([tag, size]), content]);
  const bytes = size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([tag, ...bytes]), content]);
}

const NULL = Buffer.from([5, 0]);
const sequence = (...items: readonly Buffer[]): Buffer => tagged(0x30, Buffer.concat(items));
const explicit = (index: number, content: Buffer): Buffer => tagged(0xa0 | index, content);
const integer = (bytes: Buffer): Buffer => tagged(0x02, bytes);
const bitString = (bytes: Buffer): Buffer => tagged(0x03, Buffer.concat([Buffer.from([0]), bytes]));

/** X.509 requires UTCTime, with a two-digit year, until 2049 and GeneralizedTime after. */
function time(date: Date): Buffer {
  const digits = date.toISOString().replace(/[-:T]/g, "").slice(0, 14);
  const isShort = date.getUTCFullYear() < 2050;
  return tagged(isShort ? 0x17 : 0x18, Buffer.from(`${isShort ? digits.slice(2) : digits}Z`, "ascii"));
}

function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const groups = [arc & 0x7f];
    for (let left = arc >> 7; left > 0; left >>= 7) groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return tagged(0x06, Buffer.from(bytes));
}
