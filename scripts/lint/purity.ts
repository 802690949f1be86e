// Finds what makes a pure module impure: I/O, clients, clocks, timers and randomness, its own or those of an import.
// The simulator and the tests replay decisions, which works only if nothing but the input decides. The check reads
// syntax, not types: a name that the file declares is its own, and type-only imports may name anything.
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { type ESTree, parseSync } from "vite";

interface PurityRules {
  /** Glob patterns of the files that must be pure, from the root. */
  readonly pure: readonly string[];
  /** Files that the patterns match and that are allowed to do I/O, each for a reason stated where it is listed. */
  readonly exempt: readonly string[];
  /** Packages that compute and nothing else. */
  readonly packages: readonly string[];
}

/** What is pure in this repository. */
const RULES: PurityRules = {
  pure: [
    "src/{json,api,config,inject,validate,policy,doctor}/**/*.ts",
    "controller/{group,status,escalation,rules,stuck-pods}/**/*.ts",
    "controller/{execute,tell-agents}.ts",
    "src/dashboard/view/**/*.ts",
    "src/dashboard/page/{format,grid-layout,timeline-bars}.ts",
    "{src,agent,controller}/**/decide{,-*}.ts",
  ],
  exempt: [
    "src/config/config-file.ts", // Reads the config file, so that config.ts need not.
  ],
  packages: ["fast-json-patch", "yaml", "zod"],
};

export interface Impurity {
  /** From the root. */
  readonly file: string;
  readonly line: number;
  readonly what: string;
  readonly why: string;
}

const CLOCK = "the same input must give the same answer at any time; take the time as a parameter";
const CHANCE = "the same input must give the same answer every time; take the choice as a parameter";
const EFFECT = "a decision has no effect and reads nothing but its input; do this in the shell around it";

const FORBIDDEN_GLOBALS: ReadonlyMap<string, string> = new Map([
  ["performance", CLOCK],
  ["setTimeout", CLOCK],
  ["setInterval", CLOCK],
  ["setImmediate", CLOCK],
  ["queueMicrotask", CLOCK],
  ["crypto", CHANCE],
  ["process", EFFECT],
  ["console", EFFECT],
  ["fetch", EFFECT],
  ["require", EFFECT],
  ["globalThis", EFFECT],
]);

/** Calculation with given times is pure; only reading the clock is not. */
const PURE_DATE_MEMBERS = new Set(["parse", "UTC"]);

export function findImpurities(root: string): Impurity[] {
  const modules = new Modules(root, RULES.packages);
  return pureFiles(root).flatMap((file) => modules.impuritiesOf(file));
}

export function pureFiles(root: string): string[] {
  const { pure, exempt } = RULES;
  const matched = globSync([...pure], { cwd: root });
  return [...new Set(matched)].filter((file) => !file.endsWith(".test.ts") && !exempt.includes(file)).sort();
}

/** The modules seen so far, each examined once. */
class Modules {
  readonly #root: string;
  readonly #packages: readonly string[];
  readonly #examined = new Map<string, Impurity[]>();

  constructor(root: string, packages: readonly string[]) {
    this.#root = root;
    this.#packages = packages;
  }

  impuritiesOf(file: string): Impurity[] {
    const known = this.#examined.get(file);
    if (known !== undefined) return known;
    const found: Impurity[] = [];
    // Before its imports are followed: a module that is reached again through a cycle adds nothing new.
    this.#examined.set(file, found);
    const text = readFileSync(join(this.#root, file), "utf8");
    const { program } = parseSync(file, text, { preserveParens: false });
    const at = (node: ESTree.Node) => ({ file, line: text.slice(0, node.start).split("\n").length });
    for (const { node, specifier } of importsOf(program)) {
      const problem = this.#problemOf(file, specifier);
      if (problem !== undefined) found.push({ ...at(node), ...problem });
    }
    for (const { node, what, why } of forbiddenUses(program)) found.push({ ...at(node), what, why });
    found.sort((a, b) => a.line - b.line);
    return found;
  }

  #problemOf(importer: string, specifier: string | undefined): Pick<Impurity, "what" | "why"> | undefined {
    if (specifier === undefined) return { what: "imports a module whose name is computed", why: EFFECT };
    if (!specifier.startsWith(".")) {
      if (this.#packages.includes(specifier)) return undefined;
      const why = specifier.startsWith("node:") ? EFFECT : `it is not on the list of pure packages; ${EFFECT}`;
      return { what: `imports ${specifier}`, why };
    }
    const path = resolve(this.#root, dirname(importer), specifier);
    const target = relative(this.#root, path);
    if (target.endsWith(".json")) return undefined;
    if (!existsSync(path)) return { what: `imports ${target}`, why: "there is no such file" };
    const [first] = this.impuritiesOf(target);
    if (first === undefined) return undefined;
    return { what: `imports ${target}`, why: `that module is not pure: ${first.file}:${first.line} ${first.what}` };
  }
}

interface Import {
  readonly node: ESTree.Node;
  readonly specifier: string | undefined;
}

function* importsOf(program: ESTree.Program): Generator<Import> {
  for (const { node } of walk(program)) {
    if (node.type === "ImportDeclaration" && !isTypeOnly(node)) yield { node, specifier: node.source.value };
    if (node.type === "ExportAllDeclaration" && node.exportKind !== "type")
      yield { node, specifier: node.source.value };
    if (node.type === "ExportNamedDeclaration" && node.source !== null && node.exportKind !== "type") {
      yield { node, specifier: node.source.value };
    }
    if (node.type === "ImportExpression") {
      const { source } = node;
      yield {
        node,
        specifier: source.type === "Literal" && typeof source.value === "string" ? source.value : undefined,
      };
    }
  }
}

function isTypeOnly(node: ESTree.ImportDeclaration): boolean {
  if (node.importKind === "type") return true;
  const named = node.specifiers.filter((specifier) => specifier.type === "ImportSpecifier");
  return (
    node.specifiers.length > 0 &&
    named.length === node.specifiers.length &&
    named.every((specifier) => specifier.importKind === "type")
  );
}

interface Use {
  readonly node: ESTree.Node;
  readonly what: string;
  readonly why: string;
}

function* forbiddenUses(program: ESTree.Program): Generator<Use> {
  const own = declaredNames(program);
  for (const step of walk(program)) {
    const { node } = step;
    if (node.type !== "Identifier" || own.has(node.name) || !isReference(step)) continue;
    const why = FORBIDDEN_GLOBALS.get(node.name);
    if (why !== undefined) yield { node, what: `uses ${node.name}`, why };
    if (node.name === "Math" && !isPureMath(step)) yield { node, what: `uses ${spell(step)}`, why: CHANCE };
    if (node.name === "Date" && !isPureDate(step)) yield { node, what: `uses ${spell(step)}`, why: CLOCK };
  }
}

/** Only as `Math.name`: what is taken from a value that is passed on cannot be known. */
function isPureMath(step: Step): boolean {
  const member = memberOf(step);
  return member !== undefined && member !== "random";
}

function isPureDate(step: Step): boolean {
  const { parent, key } = step;
  if (parent?.type === "NewExpression" && key === "callee") return parent.arguments.length > 0;
  if (parent?.type === "BinaryExpression") return parent.operator === "instanceof";
  return PURE_DATE_MEMBERS.has(memberOf(step) ?? "");
}

/** The name of the member when the step is the object in `object.name` or `object["name"]`. */
function memberOf({ parent, key }: Step): string | undefined {
  if (parent?.type !== "MemberExpression" || key !== "object") return undefined;
  const { property } = parent;
  if (property.type === "Identifier" && !parent.computed) return property.name;
  return property.type === "Literal" && typeof property.value === "string" ? property.value : undefined;
}

function spell(step: Step): string {
  const name = step.node.type === "Identifier" ? step.node.name : "";
  const member = memberOf(step);
  if (member !== undefined) return `${name}.${member}`;
  return step.parent?.type === "NewExpression" ? `new ${name}()` : name;
}

/** Whether an identifier stands for a value, rather than naming a member, a key or a label. */
function isReference({ parent, key }: Step): boolean {
  if (parent === undefined) return false;
  if (parent.type === "MemberExpression") return key === "object" || parent.computed;
  if (parent.type === "Property") return key === "value" || parent.computed;
  if (parent.type === "MethodDefinition" || parent.type === "PropertyDefinition")
    return key === "value" || parent.computed;
  return !parent.type.startsWith("Import") && !parent.type.startsWith("Export");
}

/** Names that the file declares somewhere: variables, parameters, functions, classes and imports. */
function declaredNames(program: ESTree.Program): ReadonlySet<string> {
  const names = new Set<string>();
  const declare = (pattern: unknown) => {
    if (!isNode(pattern)) return;
    if (pattern.type === "Identifier") names.add(pattern.name);
    if (pattern.type === "AssignmentPattern") declare(pattern.left);
    if (pattern.type === "RestElement") declare(pattern.argument);
    if (pattern.type === "ArrayPattern") pattern.elements.forEach(declare);
    if (pattern.type === "ObjectPattern") {
      for (const item of pattern.properties) declare(item.type === "RestElement" ? item.argument : item.value);
    }
  };
  for (const { node } of walk(program)) {
    if (node.type === "VariableDeclarator" || node.type === "ClassDeclaration") declare(node.id);
    if (node.type === "FunctionDeclaration" || node.type === "FunctionExpression") {
      declare(node.id);
      node.params.forEach(declare);
    }
    if (node.type === "ArrowFunctionExpression") node.params.forEach(declare);
    if (node.type === "CatchClause") declare(node.param);
    if (node.type === "ImportDeclaration") for (const specifier of node.specifiers) declare(specifier.local);
  }
  return names;
}

interface Step {
  readonly node: ESTree.Node;
  readonly parent: ESTree.Node | undefined;
  /** The field of the parent that holds the node. */
  readonly key: string;
}

/** Every node that exists at run time: types are passed over. */
function* walk(node: ESTree.Node, parent?: ESTree.Node, key = ""): Generator<Step> {
  yield { node, parent, key };
  for (const [field, value] of Object.entries(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      const present = withoutTypes(child);
      if (present !== undefined) yield* walk(present, node, field);
    }
  }
}

/** The node itself, the value inside `value as T` and its kin, or nothing when it is a type. */
function withoutTypes(value: unknown): ESTree.Node | undefined {
  if (!isNode(value)) return undefined;
  if (!value.type.startsWith("TS")) return value;
  return "expression" in value ? withoutTypes(value.expression) : undefined;
}

function isNode(value: unknown): value is ESTree.Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}
