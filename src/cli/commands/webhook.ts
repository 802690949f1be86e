// `reprise webhook`: serves the two admission webhooks until it is told to end.
import { type Command, InvalidArgumentError, Option } from "commander";
import { DURATION_FORM, type Milliseconds, parseDuration } from "../../api/duration.ts";
import type { Config } from "../../config/config.ts";
import type { Logger } from "../../telemetry/log.ts";
import { type GlobalOptions, globalOptions } from "../options.ts";

interface Options {
  readonly agentImage?: string;
  readonly drainMin: Milliseconds;
  readonly drainMax: Milliseconds;
}

export function addWebhook(program: Command): void {
  program
    .command("webhook")
    .description("serve the admission webhooks that inject and check JobSets")
    .addOption(
      // The EndpointSlice controller and every kube-proxy's next sync take 1-3 s, and several more in a large cluster.
      new Option("--drain-min <duration>", "how long to serve on after SIGTERM, at least")
        .argParser(duration)
        .default(10_000, "10s"),
    )
    .addOption(
      // The API server drops idle connections after 90 s; the Pod's termination grace period is longer than this.
      new Option("--drain-max <duration>", "when to end even if a client still holds a connection")
        .argParser(duration)
        .default(100_000, "100s"),
    )
    .addOption(
      // Not only in the config file, where tools that set the image of an install do not look.
      new Option("--agent-image <image>", "image of the agents, instead of injection.agentImage of the config").env(
        "REPRISE_AGENT_IMAGE",
      ),
    )
    .action(async ({ agentImage, drainMin, drainMax }: Options, command: Command) => {
      const { loadConfig } = await import("../../config/config-file.ts");
      const { createLogger } = await import("../../telemetry/log.ts");
      const { createRegistry } = await import("../../telemetry/metrics.ts");
      const { createCores } = await import("../../webhook/cores.ts");
      const { runWebhook } = await import("../../webhook/run.ts");
      const { endingSignal } = await import("../../process/signals.ts");
      const { watchPrerequisites } = await import("../../webhook/watch-prerequisites.ts");
      const { skipUnsupported } = await import("../../webhook/skip-unsupported.ts");

      const options = globalOptions(command);
      const config = await loadConfig(options.config);
      const injection = { ...config.injection, ...(agentImage ? { agentImage } : {}) };
      const log = createLogger({ level: options.logLevel ?? config.logLevel }).child({ component: "webhook" });
      const signal = endingSignal();
      const cluster = await watchPrerequisites(options, log);
      const policies =
        config.webhook.namespacedPolicies === "enabled" ? await watchPolicies(options, config, log) : undefined;
      try {
        const webhook = await runWebhook({
          ...config.webhook,
          cores: skipUnsupported(
            createCores({ ...config, injection }, policies?.watch.policiesOf),
            () => cluster.lacks,
          ),
          ...(policies === undefined ? {} : { pending: policies.watch.pending }),
          log,
          registry: createRegistry(),
          drain: { minMs: drainMin, maxMs: drainMax },
        });
        await signal;
        await webhook.shutdown();
      } finally {
        await cluster.stop();
        await policies?.watch.stop();
        await policies?.client.close();
      }
    });
}

async function watchPolicies({ kubeconfig, context }: GlobalOptions, { failurePolicies }: Config, log: Logger) {
  const { connect } = await import("../../kube/client.ts");
  const { PolicyWatch } = await import("../../webhook/policy-watch.ts");
  const client = connect({ kubeconfig, context });
  const watch = new PolicyWatch({ client, log, configured: failurePolicies });
  await watch.start();
  return { client, watch };
}

function duration(text: string): Milliseconds {
  const span = parseDuration(text);
  if (span === undefined) throw new InvalidArgumentError(`expected ${DURATION_FORM}`);
  return span;
}
