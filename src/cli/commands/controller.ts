// `reprise controller`: reconciles every injected JobSet until it is terminated.
import type { Command } from "commander";
import { globalOptions } from "../options.ts";

export function addController(program: Command): void {
  program
    .command("controller")
    .description("reconcile injected JobSets, free Pods stuck on lost nodes, and report JobSets that were not injected")
    .action(async (_options: unknown, command: Command) => {
      const { randomUUID } = await import("node:crypto");
      const { hostname } = await import("node:os");
      const { loadConfig } = await import("../../config/config-file.ts");
      const { connect } = await import("../../kube/client.ts");
      const { createLogger } = await import("../../telemetry/log.ts");
      const { createRegistry } = await import("../../telemetry/metrics.ts");
      const { terminationSignal } = await import("../../process/signals.ts");
      const { runController } = await import("../../../controller/shell/run.ts");

      const options = globalOptions(command);
      const config = await loadConfig(options.config);
      const terminated = terminationSignal();
      const client = connect({ kubeconfig: options.kubeconfig, context: options.context });
      const controller = await runController({
        client,
        // The host name is the Pod's name, for readers; the UUID distinguishes its restarts.
        identity: `${hostname()}_${randomUUID()}`,
        leaderElection: config.controller.leaderElection,
        injection: config.injection,
        stuckPods: config.stuckPods,
        policy: config.controller,
        healthPort: config.controller.healthPort,
        log: createLogger({ level: options.logLevel ?? config.logLevel }).child({ component: "controller" }),
        registry: createRegistry(),
      });
      await terminated;
      await controller.shutdown();
      await client.close();
    });
}
