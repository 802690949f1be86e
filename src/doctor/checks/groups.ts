// Groups that wait for something, and queues of Kueue that do not cover the agents of their JobSets. Pure.
import { readInPlaceRestart } from "../../api/in-place-restart.ts";
import { AGENT } from "../../api/names.ts";
import { asList, asMap, asText, asTextMap, type Fields } from "../../json/fields.ts";
import { nameOf, namespaceOf } from "../facts.ts";
import { type Check, judgeRead, ok, warn } from "../finding.ts";

/** Conditions of a wait that needs a person, the most specific first. */
const WAITS = ["WaitingForTermination", "Stalled"] as const;

/** Further groups are in `reprise status -A`. */
const MOST_GROUPS = 5;

export const stalledGroups: Check = {
  name: "groups",
  describe: "No group waits for longer than a start should take.",
  scope: "installation",
  judge: ({ groups }) =>
    judgeRead(
      groups,
      "InPlaceRestarts",
      () => [],
      (objects) => {
        const waiting = objects.map(readInPlaceRestart).flatMap(({ namespace, name, status }) => {
          const conditions = WAITS.flatMap((type) => status?.conditions.find((each) => each.type === type) ?? []);
          const wait = conditions.find((condition) => condition.status === "True");
          return wait === undefined ? [] : [{ namespace, name, message: wait.message }];
        });
        if (waiting.length === 0) return [ok(`${objects.length} groups, and none of them is stalled`)];
        return waiting
          .slice(0, MOST_GROUPS)
          .map(({ namespace, name, message }) =>
            warn(`group ${namespace}/${name} is stalled: ${message}`, `reprise status ${name} -n ${namespace}`),
          );
      },
    ),
};

const QUEUE_LABEL = "kueue.x-k8s.io/queue-name";

export const queues: Check = {
  name: "queues",
  describe: "The Kueue queue of an injected JobSet covers what its agents request. Otherwise it is never admitted.",
  scope: "installation",
  judge({ jobSets, localQueues, clusterQueues }) {
    if (jobSets.kind !== "read" || localQueues.kind !== "read" || clusterQueues.kind !== "read") return [];
    const clusterQueueOf = new Map(
      localQueues.value.map((queue) => [
        `${namespaceOf(queue)}/${nameOf(queue)}`,
        asText(asMap(queue["spec"])["clusterQueue"]) ?? "",
      ]),
    );
    const covered = new Map(clusterQueues.value.map((queue) => [nameOf(queue), coveredBy(queue)]));
    const verdicts = jobSets.value.flatMap((jobSet) => {
      const queue = asTextMap(asMap(jobSet["metadata"])["labels"])[QUEUE_LABEL];
      const clusterQueue = clusterQueueOf.get(`${namespaceOf(jobSet)}/${queue}`);
      const resources = clusterQueue === undefined ? undefined : covered.get(clusterQueue);
      if (resources === undefined) return [];
      const missing = requestedByAgents(jobSet).filter((resource) => !resources.has(resource));
      if (missing.length === 0) return [];
      const message =
        `the agents of JobSet ${namespaceOf(jobSet)}/${nameOf(jobSet)} request ${missing.join(" and ")}, ` +
        `which ClusterQueue ${clusterQueue} does not cover`;
      const fix = `kubectl edit clusterqueue ${clusterQueue}   # or set injection.agentResources: none`;
      return [warn(message, fix)];
    });
    return verdicts.length === 0 ? [ok("queues cover what agents request")] : verdicts.slice(0, MOST_GROUPS);
  },
};

function coveredBy(clusterQueue: Fields): ReadonlySet<unknown> {
  const groups = asList(asMap(clusterQueue["spec"])["resourceGroups"]);
  return new Set(groups.flatMap((group) => asList(asMap(group)["coveredResources"])));
}

function requestedByAgents(jobSet: Fields): readonly string[] {
  const agents = asList(asMap(jobSet["spec"])["replicatedJobs"]).flatMap((job) => {
    const podSpec = ["template", "spec", "template", "spec"].reduce<unknown>((at, key) => asMap(at)[key], job);
    return asList(asMap(podSpec)["initContainers"])
      .map(asMap)
      .filter(({ name }) => name === AGENT.container);
  });
  return [...new Set(agents.flatMap(({ resources }) => Object.keys(asMap(asMap(resources)["requests"]))))];
}
