// Ports for programs that listen later. They are below the range from which Linux takes the ports of connections, and
// each is reserved by a file, so that neither a connection nor another test process takes it meanwhile.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PORTS = { first: 15_000, count: 15_000 };
const FOLDER = join(tmpdir(), "reprise-ports");
const reserved = new Set<string>();

/** A port that is free now, and that this process has for itself until it ends. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < PORTS.count; tries += 1) {
    const port = PORTS.first + Math.floor(Math.random() * PORTS.count);
    if (reserve(port) && (await isFree(port))) return port;
  }
  throw new Error(`no port from ${PORTS.first} on is free`);
}

function reserve(port: number): boolean {
  if (reserved.size === 0) {
    mkdirSync(FOLDER, { recursive: true });
    process.on("exit", () => {
      for (const file of reserved) rmSync(file, { force: true });
    });
  }
  const file = join(FOLDER, String(port));
  try {
    writeFileSync(file, String(process.pid), { flag: "wx" });
  } catch {
    // Files of processes that were killed are removed here, and the port is for the next one that tries.
    if (!isAlive(file)) rmSync(file, { force: true });
    return false;
  }
  reserved.add(file);
  return true;
}

function isAlive(file: string): boolean {
  try {
    process.kill(Number(readFileSync(file, "utf8")), 0);
    return true;
  } catch {
    return false;
  }
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, () => server.close(() => resolve(true)));
  });
}
