// Reads the serving certificate and its key from a directory and checks that they can be used together.
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createSecureContext } from "node:tls";

/** A certificate chain and its key, as PEM, that parse and match. */
export interface ServingPair {
  readonly cert: string;
  readonly key: string;
  readonly notAfter: Date;
}

/** Reads `tls.crt` and `tls.key`. Throws if one is missing or the pair cannot serve TLS now. */
export async function readPair(directory: string, now: Date): Promise<ServingPair> {
  // A mounted Secret changes by swapping one symbolic link. Both files are read from the directory that the first
  // resolves to, so that a swap in between cannot pair an old certificate with a new key.
  const current = dirname(await realpath(join(directory, "tls.crt")));
  const [cert, key] = await Promise.all([
    readFile(join(current, "tls.crt"), "utf8"),
    readFile(join(current, "tls.key"), "utf8"),
  ]);
  return checkPair(cert, key, now);
}

export function checkPair(cert: string, key: string, now: Date): ServingPair {
  const leaf = within("tls.crt", () => new X509Certificate(cert));
  const privateKey = within("tls.key", () => createPrivateKey(key));
  if (!leaf.checkPrivateKey(privateKey)) throw new Error("tls.key does not match the certificate in tls.crt");
  const notAfter = leaf.validToDate;
  if (notAfter <= now) throw new Error(`the certificate in tls.crt expired at ${notAfter.toISOString()}`);
  // Only OpenSSL checks the rest of the chain.
  within("tls.crt", () => createSecureContext({ cert, key }));
  return { cert, key, notAfter };
}

function within<T>(file: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new Error(`${file} cannot be parsed`, { cause: error });
  }
}
