// `reprise webhook`: serves the two admission webhooks until it is terminated.
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
    .description("serve the admission webhooks that inject and validate JobSets")
    .addOption(
      // The EndpointSlice controller and the next sync of every kube-proxy take 1-3 s, a few more in a large cluster.
      new Option("--drain-min <duration>", "minimum time to keep serving after SIGTERM")
        .argParser(duration)
        .default(10_000, "10s"),
    )
    .addOption(
      // The API server closes idle connections after 90 s. The Pod's termination grace period is longer than this.
      new Option("--drain-max <duration>", "maximum time to wait for open connections after SIGTERM")
        .argParser(duration)
        .default(100_000, "100s"),
    )
    .addOption(
      // Also a flag, because tools that set the image of an installation do not look into the config file.
      new Option("--agent-image <image>", "agent image, overrides injection.agentImage of the config").env(
        "REPRISE_AGENT_IMAGE",
      ),
    )
    .action(async ({ agentImage, drainMin, drainMax }: Options, command: Command) => {
      const { loadConfig } = await import("../../config/config-file.ts");
      const { createLogger } = await import("../../telemetry/log.ts");
      const { createRegistry } = await import("../../telemetry/metrics.ts");
      const { allOf } = await import("../../webhook/catch-up.ts");
      const { createCores } = await import("../../webhook/cores.ts");
      const { runWebhook } = await import("../../webhook/run.ts");
      const { terminationSignal } = await import("../../process/signals.ts");
      const { watchPrerequisites } = await import("../../webhook/watch-prerequisites.ts");
      const { skipUnsupported } = await import("../../webhook/skip-unsupported.ts");

      const options = globalOptions(command);
      const config = await loadConfig(options.config);
      const injection = { ...config.injection, ...(agentImage ? { agentImage } : {}) };
      const log = createLogger({ level: options.logLevel ?? config.logLevel }).child({ component: "webhook" });
      const terminated = terminationSignal();
      const prerequisites = await watchPrerequisites(options, log);
      const watches =
        config.webhook.namespacedPolicies === "enabled" ? await watchNamespaces(options, config, log) : undefined;
      try {
        const webhook = await runWebhook({
          ...config.webhook,
          cores: skipUnsupported(
            createCores({ ...config, injection }, watches?.policies.policiesOf, watches?.namespaces.limitOf),
            () => prerequisites.lacks,
          ),
          ...(watches === undefined ? {} : { pending: allOf(watches.policies.pending, watches.namespaces.pending) }),
          log,
          registry: createRegistry(),
          drain: { minMs: drainMin, maxMs: drainMax },
        });
        await terminated;
        await webhook.shutdown();
      } finally {
        await prerequisites.stop();
        await watches?.policies.stop();
        await watches?.namespaces.stop();
        await watches?.client.close();
      }
    });
}

/** What the webhook knows about namespaces: their failure policies, and the annotations of the Namespaces. */
async function watchNamespaces({ kubeconfig, context }: GlobalOptions, { failurePolicies }: Config, log: Logger) {
  const { connect } = await import("../../kube/client.ts");
  const { NamespaceWatch } = await import("../../webhook/namespace-watch.ts");
  const { PolicyWatch } = await import("../../webhook/policy-watch.ts");
  const client = connect({ kubeconfig, context });
  const policies = new PolicyWatch({ client, log, configured: failurePolicies });
  const namespaces = new NamespaceWatch({ client, log });
  await Promise.all([policies.start(), namespaces.start()]);
  return { client, policies, namespaces };
}

function duration(text: string): Milliseconds {
  const span = parseDuration(text);
  if (span === undefined) throw new InvalidArgumentError(`expected ${DURATION_FORM}`);
  return span;
}
