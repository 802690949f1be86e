// Runs the command as the image does: as a process that is terminated by signals.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { Agent } from "node:https";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { eventually } from "../../../test/eventually.ts";
import { freePort } from "../../../test/free-port.ts";
import { health, issue, post, reviewText, SecretVolume, startLoad } from "../../webhook/testing.ts";

interface Command {
  readonly process: ChildProcess;
  readonly port: number;
  readonly healthPort: number;
  readonly exitCode: Promise<number>;
}

const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function startCommand(...flags: string[]): Promise<Command> {
  const volume = await SecretVolume.create();
  cleanups.push(() => volume.remove());
  await volume.write(issue());
  const [port, healthPort] = [await freePort(), await freePort()];
  const config = join(volume.directory, "config.yaml");
  await writeFile(
    config,
    JSON.stringify({ webhook: { port, healthPort, certDir: volume.directory, namespacedPolicies: "disabled" } }),
  );
  const main = join(import.meta.dirname, "../main.ts");
  const child = spawn(process.execPath, [main, "webhook", "--config", config, ...flags], { stdio: "ignore" });
  const exitCode = once(child, "exit").then(([code]) => Number(code));
  cleanups.push(async () => {
    child.kill("SIGKILL");
    await exitCode;
  });
  await eventually(async () => (await readiness(healthPort)) === 200);
  return { process: child, port, healthPort, exitCode };
}

async function readiness(healthPort: number): Promise<number | undefined> {
  return await health(healthPort, "/readyz").then(
    ({ status }) => status,
    () => undefined,
  );
}

test("SIGTERM under load fails no request, and the process exits with code 0", async () => {
  const command = await startCommand("--drain-min", "3s", "--drain-max", "50s");
  const { port } = command;
  const agent = new Agent({ keepAlive: true });
  const body = reviewText();
  const load = startLoad(4, () => post({ port, body, agent }));
  await load.responses(20);

  command.process.kill("SIGTERM");
  await eventually(async () => (await health(command.healthPort, "/readyz")).text.includes("shutting down"));
  // Until the endpoint has left the clients' lists, requests continue, on new connections too.
  await load.responses(20);
  const { failures } = await load.stop();

  expect(failures).toEqual([]);
  expect(await command.exitCode).toBe(0);
  agent.destroy();
}, 60_000);

test("a second signal ends the process at once", async () => {
  const command = await startCommand("--drain-min", "1h", "--drain-max", "1h");
  command.process.kill("SIGINT");
  await eventually(async () => (await readiness(command.healthPort)) === 503);
  command.process.kill("SIGTERM");
  expect(await command.exitCode).toBe(128 + 15);
}, 60_000);

test("an invalid duration is rejected before anything starts", async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  const main = join(import.meta.dirname, "../main.ts");
  const child = spawn(process.execPath, [main, "webhook", "--drain-min", "10"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr.on("data", (text) => {
    stderr += text;
  });
  child.on("close", (code) => resolve(Number(code)));
  expect(await promise).toBe(1);
  expect(stderr).toContain('expected a duration such as "30s"');
}, 60_000);
