import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { connect, createServer } from "node:tls";
import { expect, test } from "vitest";
import { createAuthority } from "./pki.ts";

test("an issued certificate verifies against its authority and names its hosts", () => {
  const authority = createAuthority("test authority");
  const pair = authority.issue({ commonName: "server", dnsNames: ["a.example"], ipAddresses: ["127.0.0.1"] });
  const leaf = new X509Certificate(pair.cert);
  expect(leaf.verify(new X509Certificate(authority.cert).publicKey)).toBe(true);
  expect(leaf.checkHost("a.example")).toBe("a.example");
  expect(leaf.checkIP("127.0.0.1")).toBe("127.0.0.1");
  expect(leaf.ca).toBe(false);
});

test("validity is kept to the second, before and after 2050", () => {
  for (const notAfter of [new Date("2041-02-03T04:05:06Z"), new Date("2099-02-03T04:05:06Z")]) {
    const { cert } = createAuthority("test").issue({ commonName: "server", notAfter });
    expect(new X509Certificate(cert).validToDate).toEqual(notAfter);
  }
});

test("a TLS client that trusts the authority completes a handshake, one that trusts another does not", async () => {
  const authority = createAuthority("trusted");
  const { cert, key } = authority.issue({ commonName: "server", dnsNames: ["localhost"] });
  const server = createServer({ cert, key }, (socket) => socket.end("hello")).listen(0, "127.0.0.1");
  server.on("tlsClientError", () => {});
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  try {
    const good = connect({ port, host: "127.0.0.1", servername: "localhost", ca: authority.cert });
    expect(String((await once(good, "data"))[0])).toBe("hello");
    const bad = connect({ port, host: "127.0.0.1", servername: "localhost", ca: createAuthority("trusted").cert });
    await expect(once(bad, "secureConnect")).rejects.toThrow(/certificate/);
  } finally {
    server.close();
  }
});
