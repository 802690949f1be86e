// Containers of a Pod share one network, so two of them cannot listen on one port. A hostPort is no collision: it is a port
// of the node, and under hostNetwork, where the node's ports are the Pod's, the agent listens on none.
import { AGENT, AGENT_ENV } from "../../api/names.ts";
import { isObject, listAt, named, textAt } from "../../inject/json.ts";
import { podPath } from "../../inject/template.ts";
import { judged, notApplicable, type Problem, type Rule } from "../rule.ts";
import type { Member, Subject } from "../subject.ts";

export const portCollision: Rule = {
  name: "port-collision",
  describe: "No container of a participating Pod declares the TCP port on which the agent answers its probe.",
  severity: "error",
  scope: "opted-in",
  check(subject) {
    const listening = subject.participants.filter(({ template }) => template.podSpec["hostNetwork"] !== true);
    if (listening.length === 0) return notApplicable("under hostNetwork the agent listens on no port");
    return judged(
      listening.flatMap((participant) => collisions(participant, agentPort(participant, subject))),
      "the agent's port is free",
    );
  },
};

/** The port it was injected with, which the config may have changed since. */
function agentPort({ agent }: Member, { settings }: Subject): number {
  const text = textAt(named(listAt(agent, "env"), AGENT_ENV.port), "value");
  return text === undefined ? settings.agentPort : Number(text);
}

function collisions({ index, template }: Member, port: number): Problem[] {
  return ["initContainers", "containers"].flatMap((key) =>
    listAt(template.podSpec, key).flatMap((container, position) => {
      if (!isObject(container) || container["name"] === AGENT.container) return [];
      return listAt(container, "ports").flatMap((declared, number) => {
        const isTaken =
          isObject(declared) && declared["containerPort"] === port && (declared["protocol"] ?? "TCP") === "TCP";
        if (!isTaken) return [];
        const message = `${port} is the port of the agent; use another port, or set injection.agentPort in the config of reprise`;
        return [{ path: `${podPath(index)}.${key}[${position}].ports[${number}].containerPort`, message }];
      });
    }),
  );
}
