// The training jobs of examples/, with the images and the storage of the local cluster, and what they report.
import { parseAllDocuments } from "yaml";
import { asList, asMap, asText } from "../../src/json/fields.ts";
import type { Kubectl } from "../cluster/kubectl.ts";
import type { SharedFolder } from "../e2e/shared-folder.ts";
import { type Framework, trainingImage } from "../image/training.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Ranks of an example, one in each Pod. */
export const RANKS = 4;
/** Steps between two checkpoints of an example. */
export const SAVE_EVERY = 5;

/** One step, as rank 0 recorded it. Times are in seconds since 1970. */
export interface Step {
  readonly step: number;
  readonly loss: number;
  readonly time: number;
  /** When the process started: the same for all steps of one run. */
  readonly started: number;
}

export interface Example {
  readonly name: string;
  /** The ConfigMap with the program. */
  readonly program: Fields;
  /** Of the JobSet. */
  readonly spec: Fields;
}

/** Changes only what a user would change too: the image, the storage, and how long it trains. */
export async function readExample(kubectl: Kubectl, framework: Framework, storage: SharedFolder): Promise<Example> {
  const folder = new URL(`../../examples/${framework}`, import.meta.url).pathname;
  const objects = parseAllDocuments(await kubectl(["kustomize", folder])).map((document) => asMap(document.toJS()));
  const [program, jobSet] = ["ConfigMap", "JobSet"].map((kind) => objects.find((object) => object["kind"] === kind));
  if (program === undefined || jobSet === undefined) throw new Error(`${folder} has no ConfigMap or no JobSet`);
  const name = asText(asMap(jobSet["metadata"])["name"]) ?? "";
  return { name, program, spec: changePodSpecs(asMap(jobSet["spec"]), (spec) => adapt(spec, framework, storage)) };
}

export function changePodSpecs(jobSetSpec: Fields, change: (podSpec: Fields) => Fields): Fields {
  const at = (fields: Fields, path: readonly string[]): Fields => {
    const [key, ...rest] = path;
    return key === undefined ? change(fields) : { ...fields, [key]: at(asMap(fields[key]), rest) };
  };
  const replicatedJobs = asList(jobSetSpec["replicatedJobs"]).map((stage) => {
    return at(asMap(stage), ["template", "spec", "template", "spec"]);
  });
  return { ...jobSetSpec, replicatedJobs };
}

function adapt(podSpec: Fields, framework: Framework, storage: SharedFolder): Fields {
  const containers = asList(podSpec["containers"]).map((item) => {
    const container = asMap(item);
    // Longer than any test.
    const env = [...asList(container["env"]), { name: "STEPS", value: "1000000" }];
    return { ...container, image: trainingImage(framework), imagePullPolicy: "Never", env };
  });
  const volumes = asList(podSpec["volumes"]).map((item) => {
    const { persistentVolumeClaim, ...volume } = asMap(item);
    return persistentVolumeClaim === undefined ? volume : { ...volume, hostPath: storage.hostPath };
  });
  return { ...podSpec, containers, volumes };
}

/** The steps of all runs, in the order in which they were made. */
export function stepsIn(storage: SharedFolder): readonly Step[] {
  return storage.lines("metrics.jsonl").map((line) => {
    const { step, loss, time, started } = asMap(JSON.parse(line));
    return { step: Number(step), loss: Number(loss), time: Number(time), started: Number(started) };
  });
}
