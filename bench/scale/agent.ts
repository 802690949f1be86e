// A hollow agent of reprise: the real agent's core, requests and TLS connections, without its process and its barrier.
// This is the only file of the benchmark that knows how the agent is put together (agent/main.ts). Runs under bun.
import { GroupObject } from "../../agent/api/group-object.ts";
import { type ApiClient, HttpClient } from "../../agent/api/http-client.ts";
import { RequestError } from "../../agent/api/request-error.ts";
import { readConfig } from "../../agent/config.ts";
import { type Effects, Follower } from "../../agent/follow.ts";
import type { Log } from "../../agent/log.ts";
import { RemovalCheck } from "../../agent/removal-check.ts";
import { countFailure, type StartAgent, type Traffic } from "./hollow-agent.ts";

const SILENT: Log = { info() {}, warn() {} };

export const startAgent: StartAgent = ({ env, server, credentialsFolder }, events, traffic) => {
  const config = readConfig({
    ...env,
    KUBERNETES_SERVICE_HOST: server.host,
    KUBERNETES_SERVICE_PORT: String(server.port),
    CREDENTIALS_FOLDER: credentialsFolder,
  });
  let isAlive = true;
  const client = new HttpClient(config.server, credentialsFolder);
  const kill = (): void => {
    isAlive = false;
    client.close();
  };
  const end = (): never => {
    if (isAlive) events.exited(config.restartExitCode);
    kill();
    throw new Error("the agent has ended");
  };
  /** What a dead agent awaits never comes, so its loops stand still and are garbage-collected. */
  const whileAlive = async <T>(step: () => Promise<T>): Promise<T> => {
    if (!isAlive) return await new Promise<never>(() => {});
    const result = await step();
    return isAlive ? result : await new Promise<never>(() => {});
  };
  const group = new GroupObject(counted(client, traffic), config);
  const clocks = { now: () => performance.now(), random: Math.random };
  const sleep = (ms: number) => whileAlive(() => new Promise<void>((resolve) => setTimeout(resolve, ms)));
  const removal = new RemovalCheck(
    {
      typeState: () => whileAlive(() => group.typeState()),
      save: async () => {},
      wallClock: () => Math.floor(Date.now() / 1000),
      ...clocks,
    },
    SILENT,
  );
  const effects: Effects = {
    watch: (resourceVersion, random) => group.watch(resourceVersion, random),
    async publish(epoch) {
      await whileAlive(() => group.publish(epoch));
      events.published();
    },
    lift() {
      events.lifted();
    },
    restart: end,
    removal,
    sleep,
    ...clocks,
  };
  new Follower(config, effects, SILENT).run().catch((error: unknown) => {
    if (isAlive) throw error;
  });
  return { kill };
};

/** Counts what the agent sends, and what its watches receive. */
function counted(client: ApiClient, traffic: Traffic): ApiClient {
  return {
    async open(request) {
      traffic.requests += 1;
      const isWatch = request.path.includes("watch=true");
      if (isWatch) traffic.watches += 1;
      try {
        const body = await client.open(request);
        return isWatch ? measured(body, traffic) : body;
      } catch (error) {
        countFailure(traffic, error instanceof RequestError ? error.status : undefined, String(error));
        throw error;
      }
    },
  };
}

async function* measured(body: AsyncGenerator<Uint8Array, void, undefined>, traffic: Traffic) {
  for await (const chunk of body) {
    traffic.watchBytes += chunk.length;
    yield chunk;
  }
}
