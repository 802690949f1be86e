// The HTTP server of the dashboard: the files of one page, and the stream that feeds it. It only answers GET, reads
// nothing from a request but its path, Host and group, and has nothing that could change the cluster.
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { Assets } from "./assets.ts";
import type { EventStream } from "./stream.ts";
import { isAllowedHost, isOwnPage } from "./view/host.ts";

interface ServerOptions {
  readonly assets: Assets;
  readonly stream: EventStream;
  /** Names besides those of loopback under which the page may be opened. */
  readonly allowedHosts: readonly string[];
  /** Collections that were not listed yet. */
  readonly missing: () => readonly string[];
}

/**
 * Scripts and styles come from our own files only, and no text can become HTML: even a Pod whose name was made to look
 * like a script stays text.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const HEADERS = {
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cache-control": "no-store",
} as const;

/** Longer than a namespace and a name can be together. */
const KEY_LIMIT = 400;

/** The answer to a request, or the group whose stream it begins. */
type Reply =
  | {
      readonly status: number;
      readonly type: string;
      readonly body: string | Buffer;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly follows: string | undefined };

export function createDashboardServer(options: ServerOptions): Server {
  const server = createServer({ requestTimeout: 10_000, maxHeaderSize: 16 * 1_024 }, (request, response) => {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    const reply = replyTo(options, request);
    if ("follows" in reply) {
      // x-accel-buffering is for nginx, which would hold events back.
      response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no" });
      options.stream.connect(response, reply.follows);
    } else {
      const { status, type, body, headers } = reply;
      response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body), ...headers });
      response.end(request.method === "HEAD" ? undefined : body);
    }
  });
  // Browsers open spare connections. How many of them may be streams is limited by the stream itself.
  server.maxConnections = 500;
  return server;
}

function replyTo({ assets, stream, allowedHosts, missing }: ServerOptions, request: IncomingMessage): Reply {
  const url = URL.parse(request.url ?? "/", "http://dashboard");
  const path = url?.pathname ?? "";
  if (path === "/healthz") return text(200, "ok");
  if (path === "/readyz") return readiness(missing());
  const { host } = request.headers;
  if (!isAllowedHost(host, allowedHosts)) {
    const name = JSON.stringify(host ?? "");
    return text(403, `the dashboard is not served as ${name}; open it as localhost, or start it with --allow-host`);
  }
  if (request.method !== "GET" && request.method !== "HEAD") {
    return text(405, "the dashboard is read-only; use GET", { allow: "GET, HEAD" });
  }
  if (path === "/events" && request.method === "GET")
    return streamReply(stream, request, url?.searchParams.get("group"));
  const asset = assets.get(path);
  return asset === undefined ? text(404, "not found; the dashboard is at /") : { status: 200, ...asset };
}

function streamReply(stream: EventStream, { headers }: IncomingMessage, group: string | null | undefined): Reply {
  if (!isOwnPage(headers["sec-fetch-site"])) return text(403, "the stream is for the dashboard's own page");
  if (group != null && group.length > KEY_LIMIT) return text(400, "group is too long; pass namespace/name");
  if (stream.isFull) {
    const problem = "too many pages are open; close some, or start a dashboard of your own";
    return text(503, problem, { "retry-after": "30" });
  }
  return { follows: group ?? undefined };
}

/** A kubelet asks by the address of the Pod, so probes are answered under any name. They tell nothing about groups. */
function readiness(missing: readonly string[]): Reply {
  if (missing.length === 0) return text(200, "ok");
  return text(503, missing.map((watched) => `waiting for the first list of ${watched}`).join("\n"));
}

function text(status: number, line: string, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status, type: "text/plain; charset=utf-8", body: `${line}\n`, headers };
}
