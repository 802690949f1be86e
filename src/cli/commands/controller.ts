// `reprise controller`: keeps the epochs of every injected JobSet until it is told to end.
import type { Command } from "commander";
import { globalOptions } from "../options.ts";

export function addController(program: Command): void {
  program
    .command("controller")
    .description(
      "reconcile the epochs of injected JobSets, free Pods stuck on lost nodes, and report what was not injected",
    )
    .action(async (_options: unknown, command: Command) => {
      const { randomUUID } = await import("node:crypto");
      const { hostname } = await import("node:os");
      const { loadConfig } = await import("../../config/config-file.ts");
      const { connect } = await import("../../kube/client.ts");
      const { createLogger } = await import("../../telemetry/log.ts");
      const { createRegistry } = await import("../../telemetry/metrics.ts");
      const { endingSignal } = await import("../../process/signals.ts");
      const { runController } = await import("../../../controller/shell/run.ts");

      const options = globalOptions(command);
      const config = await loadConfig(options.config);
      const signal = endingSignal();
      const client = connect({ kubeconfig: options.kubeconfig, context: options.context });
      const controller = await runController({
        client,
        // The host is the Pod's name, for people; the rest tells its restarts apart.
        identity: `${hostname()}_${randomUUID()}`,
        leaderElection: config.controller.leaderElection,
        injection: config.injection,
        stuckPods: config.stuckPods,
        policy: config.controller,
        healthPort: config.controller.healthPort,
        log: createLogger({ level: options.logLevel ?? config.logLevel }).child({ component: "controller" }),
        registry: createRegistry(),
      });
      await signal;
      await controller.shutdown();
      await client.close();
    });
}
