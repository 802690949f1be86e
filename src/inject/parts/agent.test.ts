import { describe, expect, it } from "vitest";
import {
  at,
  create,
  injected,
  injectionErrors,
  POD_SPEC,
  refusing,
  settings,
  templateOf,
} from "../../../test/builders/injection.ts";
import { container, type JobSetBuilder, jobSet, type ReplicatedJobParts } from "../../../test/builders/jobset.ts";
import { AGENT, ANNOTATION } from "../../api/names.ts";
import type { JsonObject } from "../../json/types.ts";

function agentOf(object: JsonObject) {
  return at(injected(create(object)), ...POD_SPEC, "initContainers", 0);
}

const user = (runAsUser: number): JsonObject => ({ securityContext: { runAsUser } });

describe("the agent", () => {
  it("is the first initContainer and a sidecar whose failure restarts its Pod", () => {
    const object = jobSet().replicatedJob("workers", { pods: 2, initContainers: [container("fetch")] });
    const { podSpec } = templateOf(injected(create(object.build())));
    expect(at(podSpec, "initContainers")).toMatchObject([{ name: AGENT.container }, { name: "fetch" }]);
    expect(at(podSpec, "initContainers", 0)).toMatchObject({
      image: settings.agentImage,
      restartPolicy: "Always",
      restartPolicyRules: [{ action: "RestartAllContainers", exitCodes: { operator: "NotIn", values: [0] } }],
    });
  });

  it("reads its identity from the labels of its Pod", () => {
    const env = at(agentOf(jobSet().replicatedJob("workers").build()), "env");
    expect(env).toContainEqual({
      name: "JOBSET_UID",
      valueFrom: { fieldRef: { fieldPath: "metadata.labels['jobset.sigs.k8s.io/jobset-uid']" } },
    });
    expect(env).toContainEqual({ name: "RESTART_EXIT_CODE", value: "88" });
    expect(env).toContainEqual({ name: "PROTOCOL", value: "epoch" });
  });

  it("uses JobSet's own protocol with restartStrategy InPlaceRestart", () => {
    const object = jobSet()
      .spec({ failurePolicy: { restartStrategy: "InPlaceRestart" } })
      .replicatedJob("workers");
    expect(at(agentOf(object.build()), "env")).toContainEqual({ name: "PROTOCOL", value: "jobset" });
  });

  const FOREVER = { periodSeconds: 1, timeoutSeconds: 3_600, failureThreshold: 2_147_483_647 };
  const declares = (containerPort: number) => [container("train", { ports: [{ containerPort }] })];

  it("has a startup probe at a port, for which the kubelet waits before it starts other containers", () => {
    const agent = agentOf(
      jobSet()
        .replicatedJob("workers", { containers: declares(8080) })
        .build(),
    );
    expect(at(agent, "startupProbe")).toEqual({ httpGet: { path: "/barrier", port: 24_670 }, ...FOREVER });
    expect(at(agent, "env")).toContainEqual({ name: "BARRIER_PORT", value: "24670" });
    expect(agent).not.toHaveProperty("lifecycle");
  });

  it.each<[string, ReplicatedJobParts, number | "none"]>([
    ["with hostNetwork", { pod: { hostNetwork: true } }, 24_670],
    ["in a Pod with a container that declares the port", { containers: declares(24_670) }, 24_670],
    ["in a Pod with an initContainer that declares it", { initContainers: declares(1234) }, 1234],
    ["if the config says so", {}, "none"],
  ])("has a process as its startup probe %s", (_case, parts, agentPort) => {
    const object = jobSet().replicatedJob("workers", parts).build();
    const agent = at(injected(create(object, { ...settings, agentPort })), ...POD_SPEC, "initContainers", 0);
    expect(at(agent, "startupProbe")).toEqual({ exec: { command: [AGENT.binary, "probe"] }, ...FOREVER });
    expect(JSON.stringify(at(agent, "env"))).not.toContain("BARRIER_PORT");
  });

  it("moves to the port of the config when it is injected again", () => {
    const first = injected(create(jobSet().replicatedJob("workers").build()));
    const copy = { ...first, metadata: { name: "copy" } };
    const agent = at(injected(create(copy, { ...settings, agentPort: "none" })), ...POD_SPEC, "initContainers", 0);
    expect(at(agent, "startupProbe")).not.toHaveProperty("httpGet");
    expect(JSON.stringify(at(agent, "env"))).not.toContain("BARRIER_PORT");
  });

  it("knows the number of Pods of its group", () => {
    const object = jobSet()
      .annotation(ANNOTATION.replicatedJobs, "driver,workers")
      .replicatedJob("driver", { pods: 1 })
      .replicatedJob("workers", { pods: 4, replicas: 3 })
      .replicatedJob("others", { pods: 50 });
    expect(at(agentOf(object.build()), "env")).toContainEqual({ name: "GROUP_SIZE", value: "13" });
  });

  it.each<[string, JsonObject, JsonObject[], unknown]>([
    ["no UID by default", {}, [{}], undefined],
    ["no UID of its own where the Pod has a user", user(1000), [{}], undefined],
    ["the UID of its worker", {}, [user(1000)], 1000],
    ["the UID that all workers share, whatever the Pod's", user(0), [user(1000), user(1000)], 1000],
    ["no UID beside workers with different ones", {}, [user(1000), user(1001)], undefined],
    ["no UID that Kubernetes rejects", {}, [user(2 ** 31)], undefined],
    ["no UID beside a worker that does not say", {}, [user(1000), {}], undefined],
    ["the image's UID if only one of the workers is root", {}, [user(0), {}], 65_532],
    ["the image's UID in a Pod whose workers are root and others", user(0), [user(1000), {}], 65_532],
    ["no UID where workers see its process", { shareProcessNamespace: true }, [user(1000)], undefined],
    ["no UID where workers see every process", { hostPID: true }, [user(1000)], undefined],
    ["the image's UID where a worker that is root sees its process", { hostPID: true }, [user(0)], 65_532],
    ["the image's UID beside root if there is nothing to clear", { hostIPC: true }, [user(0)], 65_532],
  ])("has %s", (_case, pod, workers, uid) => {
    const containers = workers.map((worker, index) => container(`c${index}`, worker));
    const object = jobSet().replicatedJob("workers", { pod, containers });
    const context = at(agentOf(object.build()), "securityContext");
    expect(context).toMatchObject({ runAsNonRoot: true, capabilities: { drop: ["ALL"] } });
    expect(at(context, "runAsUser")).toBe(uid);
  });

  it.each<[string, JsonObject, JsonObject]>([
    ["the Pod", user(0), {}],
    ["the worker", {}, user(0)],
    ["the worker, against the Pod", { securityContext: { runAsUser: 1000, runAsNonRoot: true } }, user(0)],
  ])("runs as root where %s says so, without capabilities", (_who, pod, worker) => {
    const object = jobSet().replicatedJob("workers", { pod, containers: [container("train", worker)] });
    expect(at(agentOf(object.build()), "securityContext")).toEqual({
      allowPrivilegeEscalation: false,
      capabilities: { drop: ["ALL"] },
      readOnlyRootFilesystem: true,
      runAsNonRoot: false,
      runAsUser: 0,
    });
  });

  const profile = (type: string) => ({ securityContext: { seccompProfile: { type } } });
  it.each<[string, JsonObject, JsonObject, boolean]>([
    ["a Pod that has one", profile("RuntimeDefault"), {}, true],
    ["a Pod with one of its own", profile("Localhost"), {}, true],
    ["a Pod with a worker that has one", {}, profile("RuntimeDefault"), true],
    ["a Pod without", {}, {}, false],
    ["a Pod that wants none", profile("Unconfined"), {}, false],
  ])("has the default seccomp profile in %s: %#", (_case, pod, worker, has) => {
    const object = jobSet().replicatedJob("workers", { pod, containers: [container("train", worker)] });
    const profile = at(agentOf(object.build()), "securityContext", "seccompProfile");
    expect(profile).toEqual(has ? { type: "RuntimeDefault" } : undefined);
  });

  it("is the only container that mounts its token", () => {
    const { podSpec } = templateOf(injected(create(jobSet().replicatedJob("workers").build())));
    expect(at(podSpec, "volumes", 0, "name")).toBe(AGENT.tokenVolume);
    expect(at(podSpec, "initContainers", 0, "volumeMounts", 0, "name")).toBe(AGENT.tokenVolume);
    expect(JSON.stringify(at(podSpec, "containers"))).not.toContain(AGENT.tokenVolume);
  });

  it.each([
    ["containers", { containers: [container("train"), container(AGENT.container)] }],
    ["initContainers", { initContainers: [container(AGENT.container)] }],
  ])("is not added to a Pod whose %s use its name", (list, parts) => {
    const errors = injectionErrors(create(jobSet().replicatedJob("workers", parts).build(), refusing));
    expect(errors).toEqual([
      expect.objectContaining({
        rule: "agent-name",
        path: `spec.replicatedJobs[0].template.spec.template.spec.${list}`,
        message: expect.stringContaining("rename your container"),
      }),
    ]);
  });

  it("is not added to a Pod with a volume of the reserved name", () => {
    const object = jobSet().replicatedJob("workers", { pod: { volumes: [{ name: AGENT.tokenVolume, emptyDir: {} }] } });
    expect(injectionErrors(create(object.build(), refusing))[0]?.path).toMatch(/volumes\[0\]\.name$/);
  });

  it("is not added to a Windows Pod", () => {
    const object = jobSet().replicatedJob("workers", { pod: { os: { name: "windows" } } });
    expect(injectionErrors(create(object.build(), refusing))[0]?.rule).toBe("linux-only");
  });
});

const GUARANTEED = { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "1000m", memory: "1024Mi" } };
const FIXED = { cpu: "100m", memory: "64Mi" };
const FLEXIBLE = { requests: { cpu: "10m", memory: "64Mi" }, limits: { memory: "64Mi" } };

describe("the agent's resources", () => {
  it.each<[string, JsonObject[], JsonObject[]]>([
    ["every request equals its limit", [{ resources: GUARANTEED }], []],
    ["requests are left out", [{ resources: { limits: { cpu: 1, memory: "1Gi" } } }], []],
    ["initContainers are Guaranteed too", [{ resources: GUARANTEED }], [{ resources: GUARANTEED }]],
  ])("keep a Pod Guaranteed when %s", (_case, containers, initContainers) => {
    const object = jobSet().replicatedJob("workers", {
      containers: containers.map((fields, index) => container(`c${index}`, fields)),
      initContainers: initContainers.map((fields, index) => container(`i${index}`, fields)),
    });
    expect(at(agentOf(object.build()), "resources")).toEqual({ requests: FIXED, limits: FIXED });
  });

  it.each<[string, JsonObject[], JsonObject[]]>([
    ["only an initContainer has resources", [{}], [{ resources: GUARANTEED }]],
    ["one container has no limits", [{ resources: GUARANTEED }, {}], []],
    ["an initContainer has no limits", [{ resources: GUARANTEED }], [{}]],
    ["a request is below its limit", [{ resources: { ...GUARANTEED, requests: { cpu: "1", memory: "1Mi" } } }], []],
  ])("have no CPU limit when %s", (_case, containers, initContainers) => {
    const object = jobSet().replicatedJob("workers", {
      containers: containers.map((fields, index) => container(`c${index}`, fields)),
      initContainers: initContainers.map((fields, index) => container(`i${index}`, fields)),
    });
    expect(at(agentOf(object.build()), "resources")).toEqual(FLEXIBLE);
  });

  it.each<[string, JsonObject, JsonObject]>([
    ["memory", { requests: { memory: "1Gi" } }, { requests: { memory: "64Mi" }, limits: { memory: "64Mi" } }],
    ["CPU", { requests: { cpu: 1, "google.com/tpu": 4 } }, { requests: { cpu: "10m" } }],
    [
      "memory, and CPU is limited to zero",
      { limits: { cpu: "0", memory: "1Gi" } },
      { requests: { memory: "64Mi" }, limits: { memory: "64Mi" } },
    ],
  ])("are only those that another container requests too, for which its queue has quota: %s", (_case, of, expected) => {
    const object = jobSet().replicatedJob("workers", { containers: [container("train", { resources: of })] });
    expect(at(agentOf(object.build()), "resources")).toEqual(expected);
  });

  it.each<[string, JsonObject]>([
    ["nothing", {}],
    ["only devices", { limits: { "nvidia.com/gpu": 8 }, requests: { "nvidia.com/gpu": 8 } }],
    ["zero", { requests: { cpu: 0, memory: "0" } }],
  ])(
    "are none where the containers request %s: the Pod stays BestEffort, and its queue needs no quota",
    (_case, of) => {
      const object = jobSet().replicatedJob("workers", {
        containers: [container("train", { resources: of })],
        initContainers: [container("fetch")],
      });
      expect(agentOf(object.build())).not.toHaveProperty("resources");
    },
  );

  it("are none with injection.agentResources none, unless the annotations set them", () => {
    const config = { ...settings, agentResources: "none" } as const;
    const agentWith = (builder: JobSetBuilder) =>
      at(injected(create(builder.build(), config)), ...POD_SPEC, "initContainers", 0);
    const guaranteed = () =>
      jobSet().replicatedJob("workers", { containers: [container("train", { resources: GUARANTEED })] });
    expect(agentWith(guaranteed())).not.toHaveProperty("resources");
    expect(at(agentWith(guaranteed().annotation(ANNOTATION.agentCpu, "1")), "resources")).toEqual({
      requests: { cpu: "1" },
      limits: { cpu: "1" },
    });
    const plain = jobSet().annotation(ANNOTATION.agentCpu, "1").replicatedJob("workers");
    expect(at(agentWith(plain), "resources")).toEqual({ requests: { cpu: "1" } });
  });

  it("are those of the annotations", () => {
    const object = jobSet()
      .annotation(ANNOTATION.agentCpu, "10m")
      .annotation(ANNOTATION.agentMemory, "32Mi")
      .replicatedJob("workers");
    expect(at(agentOf(object.build()), "resources")).toEqual({
      requests: { cpu: "10m", memory: "32Mi" },
      limits: { memory: "32Mi" },
    });
  });

  it("are not set in a Pod with Pod-level resources, unless the annotations set them", () => {
    const parts = { pod: { resources: { limits: { cpu: "8", memory: "8Gi" } } } };
    expect(agentOf(jobSet().replicatedJob("workers", parts).build())).not.toHaveProperty("resources");
    const chosen = jobSet().annotation(ANNOTATION.agentCpu, "10m").replicatedJob("workers", parts);
    expect(at(agentOf(chosen.build()), "resources", "requests", "cpu")).toBe("10m");
  });

  it.each([
    [ANNOTATION.agentCpu, "many"],
    [ANNOTATION.agentCpu, "0"],
    [ANNOTATION.agentMemory, "64m"],
    [ANNOTATION.agentMemory, "-1Gi"],
    [ANNOTATION.agentMemory, "x".repeat(100_000)],
  ])("reject %s: %s", (key, value) => {
    const errors = injectionErrors(create(jobSet().annotation(key, value).replicatedJob("workers").build()));
    expect(errors).toHaveLength(1);
    expect(errors[0]?.path).toBe(`metadata.annotations[${key}]`);
    expect(errors[0]?.message.length).toBeLessThan(200);
  });
});
