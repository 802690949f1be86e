// `reprise doctor`: checks a cluster before and after reprise is installed, and says how to fix what is wrong.
import { type Command, Option } from "commander";
import { globalOptions } from "../options.ts";

interface Options {
  readonly namespace?: string;
  readonly systemNamespace: string;
  readonly output: "text" | "json" | "yaml";
}

export function addDoctor(program: Command): void {
  program
    .command("doctor")
    .description("check the cluster and the installation, before and after reprise is installed; changes nothing")
    .option("-n, --namespace <name>", "try a dry-run Pod and JobSet here (default: the first opted-in namespace)")
    .option("--system-namespace <name>", "namespace of the installation", "reprise-system")
    .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json", "yaml"]).default("text"))
    .addHelpText("after", "\nExits with 1 if a check fails, and with 0 if there are warnings only.")
    .action(async (options: Options, command: Command) => {
      const { stringify } = await import("yaml");
      const { diagnose } = await import("../../doctor/doctor.ts");
      const { RepriseError } = await import("../../errors.ts");
      const { connect } = await import("../../kube/client.ts");
      const { readDoctorFacts } = await import("../input/doctor-facts.ts");
      const { findingsAsText } = await import("../output/doctor-text.ts");

      const { kubeconfig, context } = globalOptions(command);
      const { namespace, systemNamespace, output } = options;
      const client = connect({ kubeconfig, context });
      try {
        const facts = await readDoctorFacts(client, { now: Date.now(), systemNamespace, namespace });
        const findings = diagnose(facts);
        const data = { findings };
        process.stdout.write(
          output === "text"
            ? findingsAsText(findings)
            : output === "yaml"
              ? stringify(data)
              : `${JSON.stringify(data, null, 2)}\n`,
        );
        const failed = findings.filter(({ grade }) => grade === "fail");
        if (failed.length > 0) throw new RepriseError("DOCTOR_FAILED", { checks: failed.map(({ check }) => check) });
      } finally {
        await client.close();
      }
    });
}
