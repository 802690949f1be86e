// The order of the layers, and the check that imports follow it. Data flows one way, so a file can be understood from
// itself and from what is below it. Within a layer imports are free, but no cycle of files is allowed anywhere.
import type { ImportGraph } from "./imports.ts";

interface Layer {
  /** A folder, or a single file. */
  readonly path: string;
  /** The layers it may import; each must stand above it in this list. */
  readonly imports: readonly string[];
}

const BASE = ["src/errors.ts", "src/json", "src/api"] as const;
const CORES = [...BASE, "src/policy", "src/config", "src/inject", "src/validate"] as const;
const SHELL = ["src/telemetry", "src/process", "src/kube"] as const;

/** From the lowest to the highest. */
export const LAYERS: readonly Layer[] = [
  { path: "src/errors.ts", imports: [] },
  { path: "src/json", imports: ["src/errors.ts"] },
  { path: "src/api", imports: ["src/errors.ts", "src/json"] },
  { path: "src/policy", imports: BASE },
  { path: "src/config", imports: [...BASE, "src/policy"] },
  { path: "src/telemetry", imports: [...BASE, "src/config"] },
  { path: "src/process", imports: [...BASE, "src/telemetry"] },
  { path: "src/kube", imports: [...BASE, "src/telemetry"] },
  { path: "src/inject", imports: [...BASE, "src/policy"] },
  { path: "src/validate", imports: [...BASE, "src/policy", "src/inject"] },
  { path: "src/doctor", imports: [...BASE, "src/policy", "src/config", "src/inject"] },
  // Every Pod runs the agent, so its binary carries names and readers, and of the client only what it needs.
  { path: "agent", imports: [...BASE, "src/kube"] },
  { path: "src/webhook", imports: [...CORES, ...SHELL] },
  { path: "controller/stuck-pods", imports: BASE },
  { path: "controller/group", imports: [...BASE, "src/policy", "controller/stuck-pods"] },
  { path: "controller/status", imports: [...BASE, "controller/stuck-pods", "controller/group"] },
  { path: "controller/escalation", imports: [...BASE, "controller/group", "controller/status"] },
  { path: "controller/rules", imports: [...BASE, "controller/group", "controller/status", "controller/escalation"] },
  {
    path: "controller/decide.ts",
    imports: [...BASE, "controller/group", "controller/status", "controller/escalation", "controller/rules"],
  },
  { path: "controller/execute.ts", imports: [...BASE, "controller/decide.ts"] },
  { path: "controller/tell-agents.ts", imports: BASE },
  {
    path: "controller/shell",
    imports: [
      ...CORES,
      ...SHELL,
      "controller/stuck-pods",
      "controller/group",
      "controller/status",
      "controller/rules",
      "controller/decide.ts",
      "controller/execute.ts",
      "controller/tell-agents.ts",
    ],
  },
  // Reads what the controller wrote, in the controller's own words, and decides nothing.
  {
    path: "src/dashboard",
    imports: [...BASE, ...SHELL, "controller/status", "controller/escalation"],
  },
  // It drives the real decisions, the real executor and the real cache of a watch, never a client.
  {
    path: "src/simulate",
    imports: [
      ...BASE,
      "src/policy",
      "src/kube",
      "agent",
      "controller/stuck-pods",
      "controller/group",
      "controller/rules",
      "controller/decide.ts",
      "controller/execute.ts",
      "controller/tell-agents.ts",
    ],
  },
  {
    path: "src/cli",
    imports: [
      ...CORES,
      ...SHELL,
      "src/webhook",
      "src/dashboard",
      "src/simulate",
      "src/doctor",
      "controller/stuck-pods",
      "controller/group",
      "controller/status",
      "controller/escalation",
      "controller/shell",
    ],
  },
];

export interface Breach {
  /** From the root. */
  readonly file: string;
  readonly line: number;
  readonly what: string;
  readonly why: string;
}

/** Parts of tests and of development may import anything, and no program may import them. */
const DEVELOPMENT = /^(scripts|bench|test)\/|\/testing(\/|\.ts$)|\.test\.ts$/;

export function findBreaches(graph: ImportGraph, layers: readonly Layer[] = LAYERS): readonly Breach[] {
  return [...graph].flatMap(([file, imports]) =>
    DEVELOPMENT.test(file)
      ? []
      : imports.flatMap(({ line, target }) => {
          const why = reasonAgainst(file, target, layers);
          return why === undefined ? [] : [{ file, line, what: `imports ${target}`, why }];
        }),
  );
}

function reasonAgainst(file: string, target: string, layers: readonly Layer[]): string | undefined {
  if (DEVELOPMENT.test(target)) return "a program imports nothing that is for tests or development";
  const [from, to] = [layerOf(file, layers), layerOf(target, layers)];
  if (from === undefined) return `${file} is in no layer; add it to scripts/lint/layers.ts`;
  if (to === undefined) return `${target} is in no layer; add it to scripts/lint/layers.ts`;
  if (from === to || from.imports.includes(to.path)) return undefined;
  return `${from.path} may import only ${from.imports.join(", ") || "itself"}`;
}

function layerOf(file: string, layers: readonly Layer[]): Layer | undefined {
  return layers.find(({ path }) => file === path || file.startsWith(`${path}/`));
}

/** One cycle for each file that closes one, such as "a.ts → b.ts → a.ts". */
export function findCycles(graph: ImportGraph): readonly string[] {
  const cycles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]) => {
    const start = path.indexOf(file);
    if (start >= 0) {
      cycles.push([...path.slice(start), file].join(" → "));
      return;
    }
    if (done.has(file)) return;
    for (const { target } of graph.get(file) ?? []) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  return cycles;
}
