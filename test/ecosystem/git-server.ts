// A Git repository on loopback, served by Git's own HTTP backend. It is what GitOps tools deploy from.
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { run } from "../cluster/run.ts";
import { freePort } from "../free-port.ts";

export interface GitServer {
  readonly url: string;
  /** Writes the files, commits them to `main`, and returns the commit. */
  commit(files: Readonly<Record<string, string>>): string;
  /** The files of a commit, as a compressed archive. */
  archive(commit: string): Buffer;
  stop(): Promise<void>;
}

const REPOSITORY = "training";

export async function startGitServer(folder: string): Promise<GitServer> {
  const tree = join(folder, REPOSITORY);
  run(["git", "init", "-q", "--initial-branch=main", tree]);
  const git = (...args: readonly string[]) => run(["git", "-C", tree, ...AUTHOR, ...args]).trim();
  const port = await freePort();
  const server = createServer((request, response) => serve(folder, request, response));
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${port}/${REPOSITORY}/.git`,
    commit(files) {
      for (const [file, text] of Object.entries(files)) {
        mkdirSync(join(tree, file, ".."), { recursive: true });
        writeFileSync(join(tree, file), text);
      }
      git("add", "--all");
      git("commit", "-q", "--allow-empty", "--message", "Change the training jobs");
      return git("rev-parse", "HEAD");
    },
    archive: (commit) => execFileSync("git", ["-C", tree, "archive", "--format=tar.gz", commit]),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const AUTHOR = ["-c", "user.name=test", "-c", "user.email=test@example.com"];

/** Runs the backend as a web server does: one process for each request, with the request as CGI variables. */
function serve(folder: string, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
  const { headers } = request;
  const backend = spawn("git", ["http-backend"], {
    env: {
      PATH: process.env["PATH"],
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: "1",
      REQUEST_METHOD: request.method,
      PATH_INFO: pathname,
      QUERY_STRING: searchParams.toString(),
      CONTENT_TYPE: headers["content-type"],
      HTTP_CONTENT_ENCODING: headers["content-encoding"],
      GIT_PROTOCOL: headers["git-protocol"]?.toString(),
    },
    stdio: ["pipe", "pipe", "inherit"],
  });
  backend.stdin.on("error", () => {}); // It may end before it has read everything.
  request.pipe(backend.stdin);
  const chunks: Buffer[] = [];
  backend.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  backend.once("close", () => {
    const output = Buffer.concat(chunks);
    const end = output.indexOf("\r\n\r\n");
    for (const line of output.subarray(0, end).toString().split("\r\n")) {
      const [name = "", value = ""] = line.split(": ");
      if (name === "Status") response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.end(output.subarray(end + 4));
  });
}
