import { describe, expect, it } from "vitest";
import { ResponseReader } from "./http-response.ts";

/** A response that arrives in these pieces, after which the other side closes. */
function arriving(...pieces: readonly string[]): ResponseReader {
  const left = pieces.map((piece) => Buffer.from(piece));
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

describe("a response", () => {
  it("has a status and headers, whatever the case of their names", async () => {
    const { status, headers } = await arriving("HTTP/1.1 429 Too Many\r\nRETRY-After:  3 \r\n\r\n").head();
    expect({ status, retryAfter: headers.get("retry-after") }).toEqual({ status: 429, retryAfter: "3" });
  });

  it("has a body of the length it says", async () => {
    const response = arriving("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "he", "llo");
    expect(await textOf(response)).toBe("hello");
    expect(response.isReusable).toBe(true);
  });

  it("has a body in chunks, wherever they are cut on the way", async () => {
    const bytes = Buffer.from(CHUNKED);
    for (let at = 1; at < bytes.length; at++) {
      const left = [bytes.subarray(0, at), bytes.subarray(at)];
      const response = new ResponseReader(async () => left.shift());
      expect(await textOf(response)).toBe(`{}\n{${"é".repeat(15)}`);
      expect(response.isReusable).toBe(true);
    }
  });

  it("hands a chunk out as it comes, without waiting for its end", async () => {
    const response = arriving(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
      "a\r\n12345",
      "67890\r\n0\r\n\r\n",
    );
    const pieces: string[] = [];
    for await (const piece of response.body()) pieces.push(Buffer.from(piece).toString());
    expect(pieces).toEqual(["12345", "67890"]);
  });

  it("ends with the connection if it says no length", async () => {
    const response = arriving("HTTP/1.0 502 Bad Gateway\r\n\r\n<h1>", "Bad");
    expect(await textOf(response)).toBe("<h1>Bad");
    expect(response.isReusable).toBe(false);
  });

  it("is empty where a status says so", async () => {
    expect(await textOf(arriving("HTTP/1.1 204 No Content\r\n\r\n"))).toBe("");
  });

  it("comes after what was only announced", async () => {
    const response = arriving("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    expect(await textOf(response)).toBe("ok");
  });

  it.each([
    ["says that the connection closes", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: Close\r\n\r\nok"],
    ["is followed by bytes that nobody asked for", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok!"],
  ])("leaves no connection to use again if it %s", async (_case, text) => {
    const response = arriving(text);
    expect(await textOf(response)).toBe("ok");
    expect(response.isReusable).toBe(false);
  });

  it("leaves no connection to use again before it was read", async () => {
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
    ["has no sound length", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", 'not a length: "-5"'],
    ["has no sound chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 'not a length: "xyz"'],
    [
      "has a chunk that is longer than it says",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nhe\r\n",
      "a chunk is longer than it says",
    ],
    ["has a line without an end", "HTTP/1.1 200 OK\r\nX: ".padEnd(20_000, "x"), "a line without an end"],
    [
      "has headers without an end",
      `HTTP/1.1 200 OK\r\n${Array.from({ length: 200 }, (_, i) => `h${i}: x\r\n`).join("")}`,
      "too many",
    ],
  ])("is broken if it %s", async (_case, text, message) => {
    await expect(textOf(arriving(text))).rejects.toThrow(message);
  });
});
