// `reprise restart`: asks the controller to restart a group in place, by hand. It writes one annotation of the JobSet,
// as `kubectl annotate` could, with the reason and the name of the user.
import { type Command, InvalidArgumentError, Option } from "commander";
import { DURATION_FORM, type Milliseconds, parseDuration } from "../../api/duration.ts";
import { globalOptions } from "../options.ts";

interface Options {
  readonly namespace?: string;
  readonly reason: string;
  readonly wait?: boolean;
  readonly timeout: Milliseconds;
}

const DEFAULT_TIMEOUT_MS = 300_000;

export function addRestart(program: Command): void {
  program
    .command("restart")
    .description("restart all workers of a JobSet in place, by hand; the restart is not counted")
    .argument("<jobset>", "name of the JobSet")
    .option("-n, --namespace <name>", "namespace (default: that of the kubeconfig context)")
    .requiredOption("--reason <text>", "why, for the history and the Events of the JobSet")
    .option("--wait", "wait until every worker runs again")
    .addOption(
      new Option("--timeout <duration>", "how long to wait").argParser(duration).default(DEFAULT_TIMEOUT_MS, "5m"),
    )
    .action(async (name: string, options: Options, command: Command) => {
      const { connect } = await import("../../kube/client.ts");
      const { requestRestart, restartDone } = await import("../input/restart-request.ts");
      const { restartedText } = await import("../output/restart-text.ts");

      const { kubeconfig, context } = globalOptions(command);
      const client = connect({ kubeconfig, context });
      try {
        const namespace = options.namespace ?? client.namespace;
        const request = await requestRestart(client, { namespace, name }, options.reason, Date.now());
        const follow = `follow it with: reprise status ${name} -n ${namespace}`;
        const next = options.wait === true ? "" : `; ${follow}`;
        process.stdout.write(`JobSet ${namespace}/${name}: restart requested: ${JSON.stringify(request)}${next}\n`);
        if (options.wait !== true) return;
        const status = await restartDone(client, { namespace, name }, request, options.timeout);
        process.stdout.write(`JobSet ${namespace}/${name}: ${restartedText(status, request)}\n`);
      } finally {
        await client.close();
      }
    });
}

function duration(text: string): Milliseconds {
  const span = parseDuration(text);
  if (span === undefined) throw new InvalidArgumentError(`expected ${DURATION_FORM}`);
  return span;
}
