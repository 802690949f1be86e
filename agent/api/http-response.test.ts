import { describe, expect, it } from "vitest";
import { ResponseReader } from "./http-response.ts";

/** A response that arrives in these chunks, after which the server closes the connection. */
function arriving(...chunks: readonly string[]): ResponseReader {
  const left = chunks.map((chunk) => Buffer.from(chunk));
  return new ResponseReader(async () => left.shift());
}

async function textOf(response: ResponseReader): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of response.body()) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

const CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{}\n{\r\n1e;x=y\r\n".concat(
  `${"é".repeat(15)}\r\n0\r\nTrailer: x\r\n\r\n`,
);

describe("the response parser", () => {
  it("reads status and headers, and ignores the case of header names", async () => {
    const { status, headers } = await arriving("HTTP/1.1 429 Too Many\r\nRETRY-After:  3 \r\n\r\n").head();
    expect({ status, retryAfter: headers.get("retry-after") }).toEqual({ status: 429, retryAfter: "3" });
  });

  it("reads a body of the declared length", async () => {
    const response = arriving("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "he", "llo");
    expect(await textOf(response)).toBe("hello");
    expect(response.isReusable).toBe(true);
  });

  it("reads a chunked body, wherever TCP splits it", async () => {
    const bytes = Buffer.from(CHUNKED);
    for (let at = 1; at < bytes.length; at++) {
      const left = [bytes.subarray(0, at), bytes.subarray(at)];
      const response = new ResponseReader(async () => left.shift());
      expect(await textOf(response)).toBe(`{}\n{${"é".repeat(15)}`);
      expect(response.isReusable).toBe(true);
    }
  });

  it("delivers a chunk as it arrives, without waiting for its end", async () => {
    const response = arriving(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
      "a\r\n12345",
      "67890\r\n0\r\n\r\n",
    );
    const pieces: string[] = [];
    for await (const piece of response.body()) pieces.push(Buffer.from(piece).toString());
    expect(pieces).toEqual(["12345", "67890"]);
  });

  it("reads a body without a length until the connection closes", async () => {
    const response = arriving("HTTP/1.0 502 Bad Gateway\r\n\r\n<h1>", "Bad");
    expect(await textOf(response)).toBe("<h1>Bad");
    expect(response.isReusable).toBe(false);
  });

  it("reads no body for status 204", async () => {
    expect(await textOf(arriving("HTTP/1.1 204 No Content\r\n\r\n"))).toBe("");
  });

  it("skips informational responses", async () => {
    const response = arriving("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    expect(await textOf(response)).toBe("ok");
  });

  it.each([
    ["has a Connection: close header", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: Close\r\n\r\nok"],
    ["is followed by unexpected bytes", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok!"],
  ])("does not allow reuse of the connection if the response %s", async (_case, text) => {
    const response = arriving(text);
    expect(await textOf(response)).toBe("ok");
    expect(response.isReusable).toBe(false);
  });

  it("does not allow reuse of the connection before the body was read", async () => {
    const response = arriving("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", "ok");
    await response.head();
    expect(response.isReusable).toBe(false);
  });

  it.each([
    ["is cut off in its head", "HTTP/1.1 200 OK\r\nContent-", "closed before the response ended"],
    ["is cut off in its body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe", "closed before the response ended"],
    ["is cut off in a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe", "closed before"],
    ["is cut off between chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n", "closed before"],
    ["is not HTTP", "SSH-2.0-server\r\n", 'not an HTTP response: "SSH-2.0-server"'],
    ["has an invalid length", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", 'invalid length: "-5"'],
    [
      "has an invalid chunk size",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
      'invalid length: "xyz"',
    ],
    [
      "has a chunk that is longer than its size",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nhe\r\n",
      "a chunk is longer than its size",
    ],
    ["has a line that never ends", "HTTP/1.1 200 OK\r\nX: ".padEnd(20_000, "x"), "a line that is too long"],
    [
      "has headers that never end",
      `HTTP/1.1 200 OK\r\n${Array.from({ length: 200 }, (_, i) => `h${i}: x\r\n`).join("")}`,
      "too many",
    ],
  ])("fails if the response %s", async (_case, text, message) => {
    await expect(textOf(arriving(text))).rejects.toThrow(message);
  });
});
