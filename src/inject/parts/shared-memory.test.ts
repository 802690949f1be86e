import { describe, expect, it } from "vitest";
import { at, create, injected, templateOf, update } from "../../../test/builders/injection.ts";
import { container, jobSet } from "../../../test/builders/jobset.ts";
import { ANNOTATION, SHARED_MEMORY_ENV } from "../../api/names.ts";
import { isObject, listAt, named } from "../../json/edit.ts";
import type { JsonObject } from "../../json/types.ts";
import { rebuildAgent } from "./agent.ts";

const MEMORY = { volumes: [{ name: "dshm", emptyDir: { medium: "Memory" } }] };
const AT_SHM = { volumeMounts: [{ name: "dshm", mountPath: "/dev/shm" }] };

function jobSetWith(pod: JsonObject, ...workers: readonly JsonObject[]) {
  const containers = workers.map((fields, index) => container(`c${index}`, fields));
  return jobSet().replicatedJob("workers", { pod, containers });
}

function agentIn(object: JsonObject): JsonObject {
  const agent = at(templateOf(object).podSpec, "initContainers", 0);
  if (!isObject(agent)) throw new Error("no agent");
  return agent;
}

/** The folders that the agent clears, and what it mounts beside its token. */
function partsOf(agent: JsonObject) {
  const folders = named(listAt(agent, "env"), SHARED_MEMORY_ENV)?.["value"];
  return { folders, mounts: listAt(agent, "volumeMounts").slice(1) };
}

const agentOf = (object: JsonObject) => agentIn(injected(create(object)));

describe("the agent clears", () => {
  it("the Pod's own shared memory", () => {
    expect(partsOf(agentOf(jobSetWith({}, {}).build()))).toEqual({ folders: "/dev/shm", mounts: [] });
  });

  it("also the memory volume that the workers mount in its place", () => {
    expect(partsOf(agentOf(jobSetWith(MEMORY, AT_SHM, {}, AT_SHM).build()))).toEqual({
      folders: "/dev/shm:/var/run/reprise.dev/shm",
      mounts: [{ name: "dshm", mountPath: "/var/run/reprise.dev/shm" }],
    });
  });

  it.each<[string, JsonObject, JsonObject[]]>([
    ["is on a disk", { volumes: [{ name: "dshm", emptyDir: {} }] }, [AT_SHM]],
    ["belongs to the node", { volumes: [{ name: "dshm", hostPath: { path: "/dev/shm" } }] }, [AT_SHM]],
    ["is missing", {}, [AT_SHM]],
    ["is mounted elsewhere", MEMORY, [{ volumeMounts: [{ name: "dshm", mountPath: "/cache" }] }]],
    ["is mounted in part", MEMORY, [{ volumeMounts: [{ name: "dshm", mountPath: "/dev/shm", subPath: "a" }] }]],
    [
      "is one of two",
      { volumes: [...MEMORY.volumes, { name: "other", emptyDir: { medium: "Memory" } }] },
      [AT_SHM, { volumeMounts: [{ name: "other", mountPath: "/dev/shm" }] }],
    ],
  ])("no volume that %s", (_what, pod, workers) => {
    expect(partsOf(agentOf(jobSetWith(pod, ...workers).build()))).toEqual({ folders: "/dev/shm", mounts: [] });
  });

  it("nothing in shared memory of the node", () => {
    const object = jobSetWith({ hostIPC: true, ...MEMORY }, AT_SHM).build();
    expect(partsOf(agentOf(object))).toEqual({ folders: undefined, mounts: [] });
  });

  it.each([
    ["true", undefined],
    ["false", "/dev/shm"],
  ])("nothing if the JobSet keeps its shared memory (%s)", (value, folders) => {
    const object = jobSetWith({}, {}).annotation(ANNOTATION.keepSharedMemory, value).build();
    expect(partsOf(agentOf(object)).folders).toBe(folders);
  });
});

describe("an agent with the workers' memory volume", () => {
  const plain = jobSetWith(MEMORY, AT_SHM);
  const live = injected(create(plain.build()));

  it("is the same after the plain JobSet is applied again", () => {
    expect(agentIn(injected(update(plain.build(), live)))).toEqual(agentIn(live));
  });

  it("loses the volume and its variable when it is built for a JobSet that has none", () => {
    const kept = jobSetWith({}, {}).annotation(ANNOTATION.keepSharedMemory, "true").build();
    expect(partsOf(rebuildAgent(agentIn(live), agentOf(kept)))).toEqual({ folders: undefined, mounts: [] });
  });
});
