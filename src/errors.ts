// Every error that a user can meet, as a table: the message, and what the user can do about it. An error is thrown
// once, with its cause attached, and printed once, by the command or server that owns it.

interface Entry<P> {
  readonly message: (params: P) => string;
  readonly fix: (params: P) => string;
}

function entry<P>(message: (params: P) => string, fix: (params: P) => string): Entry<P> {
  return { message, fix };
}

/** A request that the API server answered with an error. */
interface ApiFailure {
  readonly server: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly reason: string;
  readonly message: string;
}

function fixForStatus(status: number): string {
  if (status === 403) return "grant this user the permission named in the message";
  if (status === 404) return "check the name, and that the resource type is installed";
  if (status === 409) return "read the object again and retry";
  if (status === 429 || status >= 500) return "retry; if it persists, read the API server's log";
  return "fix what the message names";
}

const ERRORS = {
  KUBECONFIG_UNREADABLE: entry<{ file: string; reason: string }>(
    (p) => `kubeconfig ${p.file} cannot be read: ${p.reason}`,
    () => "pass --kubeconfig FILE, or set KUBECONFIG to a readable file",
  ),
  KUBECONFIG_NOT_FOUND: entry<{ searched: string }>(
    (p) => `no kubeconfig: ${p.searched} does not exist, and this process does not run in a cluster`,
    () => "pass --kubeconfig FILE, or set KUBECONFIG",
  ),
  KUBECONFIG_INVALID: entry<{ file: string; field: string; problem: string }>(
    (p) => `kubeconfig ${p.file}: ${p.field} ${p.problem}`,
    (p) => `fix ${p.field} in that file`,
  ),
  KUBECONFIG_DANGLING: entry<{ file: string; field: string; name: string; known: readonly string[] }>(
    (p) => `kubeconfig ${p.file}: ${p.field} refers to ${JSON.stringify(p.name)}, which is not in the file`,
    (p) => (p.known.length > 0 ? `use one of: ${p.known.join(", ")}` : "add the missing entry"),
  ),
  KUBECONFIG_REFERENCE_UNREADABLE: entry<{ file: string; field: string; path: string; reason: string }>(
    (p) => `kubeconfig ${p.file}: ${p.field} refers to ${p.path}, which cannot be read: ${p.reason}`,
    (p) => `fix ${p.field}, or make that file readable`,
  ),
  TOKEN_FILE_UNREADABLE: entry<{ path: string; reason: string }>(
    (p) => `service account token ${p.path} cannot be used: ${p.reason}`,
    () => "mount a projected service account token there, or fix tokenFile in the kubeconfig",
  ),
  API_CREDENTIALS_FAILED: entry<{ server: string; user: string; reason: string }>(
    (p) => `cannot get the credentials of user ${p.user} for ${p.server}: ${p.reason}`,
    (p) => `check the credentials of user ${p.user} in the kubeconfig (for exec, run its command by hand)`,
  ),
  API_UNREACHABLE: entry<{ server: string; reason: string }>(
    (p) => `cannot reach API server ${p.server}: ${p.reason}`,
    () => "check that it is running, and that clusters[].cluster.server in the kubeconfig is its address",
  ),
  API_TLS_REJECTED: entry<{ server: string; reason: string }>(
    (p) => `TLS connection to API server ${p.server} failed: ${p.reason}`,
    () => "set certificate-authority-data (and tls-server-name) in the kubeconfig to match the server's certificate",
  ),
  API_UNAUTHORIZED: entry<ApiFailure>(
    (p) => `API server ${p.server} rejected the credentials (401 on ${p.method} ${p.path})`,
    () => "renew this user's token or client certificate in the kubeconfig",
  ),
  API_REJECTED: entry<ApiFailure>(
    (p) => `${p.method} ${p.path} on ${p.server} failed: ${p.status}${p.reason ? ` ${p.reason}` : ""}: ${p.message}`,
    (p) => fixForStatus(p.status),
  ),
  CONFIG_UNREADABLE: entry<{ file: string; reason: string }>(
    (p) => `cannot read config file ${p.file}: ${p.reason}`,
    () => "pass a readable file with --config FILE, or omit it to use the defaults",
  ),
  CONFIG_SYNTAX: entry<{ file: string; line: number; reason: string }>(
    (p) => `${p.file}:${p.line}: not valid YAML: ${p.reason}`,
    () => "correct this line",
  ),
  CONFIG_WRONG_VALUE: entry<{ file: string; line: number; path: string; expected: string; found: string; fix: string }>(
    (p) => `${p.file}:${p.line}: ${p.path}: expected ${p.expected}, found ${p.found}`,
    (p) => p.fix,
  ),
  CONFIG_UNKNOWN_KEY: entry<{ file: string; line: number; path: string; nearest?: string; known: readonly string[] }>(
    (p) => `${p.file}:${p.line}: ${p.path} is not a known setting`,
    (p) => (p.nearest === undefined ? `remove it (known here: ${p.known.join(", ")})` : `did you mean "${p.nearest}"?`),
  ),
  CONFIG_INVALID_POLICY: entry<{ file: string; line: number; path: string; problem: string; fix: string }>(
    (p) => `${p.file}:${p.line}: ${p.path}: ${p.problem}`,
    (p) => p.fix,
  ),
  AGENT_ENVIRONMENT_INVALID: entry<{ problems: readonly string[] }>(
    (p) => `invalid environment of the agent container: ${p.problems.join(", ")}`,
    () => "recreate the JobSet, and do not change its injected agent container",
  ),
  PORT_UNAVAILABLE: entry<{ what: string; port: number; reason: string }>(
    (p) => `cannot listen on port ${p.port} for ${p.what}: ${p.reason}`,
    () => "stop the process that uses the port, or set another one in the config file",
  ),
  DASHBOARD_CANNOT_LISTEN: entry<{ address: string; port: number; reason: string }>(
    (p) => `cannot serve the dashboard at ${p.address}, port ${p.port}: ${p.reason}`,
    () => "pass another --port (0 picks a free one), or an --address of this machine",
  ),
  DASHBOARD_PAGE_MISSING: entry<{ file: string; reason: string }>(
    (p) => `the dashboard's page cannot be read from ${p.file}: ${p.reason}`,
    () => "install reprise again; in a checkout, run npm run build",
  ),
  INPUT_UNREADABLE: entry<{ file: string; reason: string }>(
    (p) => `cannot read ${p.file}: ${p.reason}`,
    () => "pass a readable file or directory with -f FILE, or -f - for standard input",
  ),
  INPUT_BINARY: entry<{ file: string }>(
    (p) => `${p.file} is not a text file`,
    () => "pass YAML or JSON in UTF-8",
  ),
  INPUT_DIRECTORY_EMPTY: entry<{ directory: string; hasDirectories: boolean; recursive: boolean }>(
    (p) => `no .yaml, .yml or .json file in directory ${p.directory}`,
    (p) =>
      p.hasDirectories && !p.recursive
        ? "pass -R to read its subdirectories too"
        : "pass a directory with such files, or a file",
  ),
  INPUT_DUPLICATE_KEY: entry<{ file: string; document: number; line: number; key: string; first: number }>(
    (p) => `${p.file}:${p.line}: document ${p.document} sets ${JSON.stringify(p.key)} twice, first in line ${p.first}`,
    () => "remove one of the two",
  ),
  INPUT_OTHER_API: entry<{
    file: string;
    document: number;
    line: number;
    field: string;
    found: string | undefined;
    expected: string;
  }>(
    (p) => {
      const found = p.found === undefined ? "is not set" : `is ${JSON.stringify(p.found)}`;
      return `${p.file}:${p.line}: document ${p.document} is not a JobSet: ${p.field} ${found}`;
    },
    (p) => `use ${p.expected}`,
  ),
  INPUT_SYNTAX: entry<{ file: string; document: number; line: number; reason: string }>(
    (p) => `${p.file}:${p.line}: document ${p.document} is not valid YAML: ${p.reason}`,
    () => "correct this line",
  ),
  INPUT_WITHOUT_JOBSET: entry<{ files: string; documents: number }>(
    (p) => `no JobSet in ${p.files} (documents read: ${p.documents})`,
    () => "pass a file with a document of kind JobSet",
  ),
  VALIDATE_NOTHING: entry<object>(
    () => "nothing to validate",
    () => "pass -f FILE, or --from-cluster for the JobSets of a cluster",
  ),
  JOBSETS_REFUSED: entry<{ refused: number; jobSets: number }>(
    (p) => `${p.refused} of ${p.jobSets} JobSets would be refused`,
    () => "fix the problems listed above",
  ),
  JOBSET_NOT_FOUND: entry<{ namespace: string; name: string }>(
    (p) => `JobSet ${p.name} does not exist in namespace ${p.namespace}`,
    () => 'check the name and -n NAMESPACE; "reprise status -A" lists all JobSets that restart in place',
  ),
  JOBSET_WITHOUT_GROUP: entry<{ namespace: string; name: string; injected: boolean; upstream: boolean }>(
    (p) =>
      p.upstream
        ? `JobSet ${p.namespace}/${p.name} is restarted in place by JobSet's own controller`
        : p.injected
          ? `JobSet ${p.namespace}/${p.name} is injected, but the controller has not picked it up`
          : `JobSet ${p.namespace}/${p.name} does not restart in place: it was not injected when it was created`,
    (p) =>
      p.upstream
        ? `see its status: kubectl get jobset -n ${p.namespace} ${p.name} -o yaml`
        : p.injected
          ? "retry in a moment; if it persists, check that the reprise controller is running"
          : 'label its namespace "reprise.dev/injection: enabled", delete the JobSet and apply it again',
  ),
  JOBSET_IN_OTHER_CLUSTER: entry<{ namespace: string; name: string; managedBy: string }>(
    (p) => `JobSet ${p.namespace}/${p.name} has no Pods in this cluster: ${p.managedBy} runs it in another one`,
    () => "run the command with --kubeconfig or --context of that cluster",
  ),
  RESTART_OF_FINISHED: entry<{ namespace: string; name: string; outcome: "Completed" | "Failed" }>(
    (p) => `JobSet ${p.namespace}/${p.name} has ${p.outcome === "Failed" ? "failed" : "completed"}, so nothing runs`,
    () => "to run it again, delete it and apply it again",
  ),
  RESTART_OF_SUSPENDED: entry<{ namespace: string; name: string }>(
    (p) => `JobSet ${p.namespace}/${p.name} is suspended, so nothing runs`,
    (p) => `to start it: kubectl patch jobset -n ${p.namespace} ${p.name} --type merge -p '{"spec":{"suspend":false}}'`,
  ),
  RESTART_REASON_INVALID: entry<{ form: string; added: number }>(
    (p) => `the reason, with ${p.added} characters for the user and the time, is not ${p.form}`,
    () => "pass a shorter one with --reason",
  ),
  RESTART_TIMED_OUT: entry<{ namespace: string; name: string; phase: string }>(
    (p) => `JobSet ${p.namespace}/${p.name} does not run again in time; its phase is ${p.phase}`,
    (p) => `see what it waits for: reprise status ${p.name} -n ${p.namespace}`,
  ),
  STATUS_OF_ONE_EVERYWHERE: entry<{ jobSet: string }>(
    (p) => `a name (${p.jobSet}) cannot be combined with -A`,
    () => "pass -n NAMESPACE with a name, or -A without one",
  ),
  STATUS_WATCH_AS_DATA: entry<{ output: string }>(
    (p) => `-w cannot be combined with -o ${p.output}`,
    () => "use -o text or -o wide, or read repeatedly without -w",
  ),
  EXPLAIN_WHAT: entry<object>(
    () => "expected the name of a JobSet or -f FILE, and not both",
    () => "pass one of them",
  ),
  DOCTOR_FAILED: entry<{ checks: readonly string[] }>(
    (p) => `failed: ${[...new Set(p.checks)].join(", ")}`,
    () => "do what the lines above say, then run it again",
  ),
  SIMULATION_NOT_INJECTED: entry<{ name: string }>(
    (p) => `JobSet ${p.name} would not be injected, so it does not restart in place`,
    () => '"reprise explain -f FILE" says why',
  ),
  SIMULATION_TOO_LARGE: entry<{ name: string; pods: number; most: number }>(
    (p) => `JobSet ${p.name} has ${p.pods} Pods, and at most ${p.most} can be simulated`,
    () => "simulate a smaller one; the time grows little with the size",
  ),
  SIMULATION_BREACH: entry<{ seed: number; problem: string }>(
    (p) => `simulation with seed ${p.seed}: ${p.problem}`,
    () => "this is a bug in reprise, not in your cluster: report it with this command line and the version",
  ),
} as const;

export type ErrorCode = keyof typeof ERRORS;
export type ErrorParams<C extends ErrorCode> = (typeof ERRORS)[C] extends Entry<infer P> ? P : never;

/** The same table, typed so that a code and its parameters match. */
const table: { readonly [C in ErrorCode]: Entry<ErrorParams<C>> } = ERRORS;

/** An error with a code from the table. Its message is one line: what is wrong, where, and what to do. */
export class RepriseError<C extends ErrorCode = ErrorCode> extends Error {
  readonly code: C;
  readonly fix: string;

  constructor(code: C, params: ErrorParams<C>, options?: { cause?: unknown }) {
    const { message, fix } = table[code];
    super(`${message(params)}; ${fix(params)}`, options);
    this.name = "RepriseError";
    this.code = code;
    this.fix = fix(params);
  }
}

/** Several problems at once, one line each. */
export class ProblemList extends AggregateError {
  constructor(problems: readonly RepriseError[]) {
    super(problems, problems.map((problem) => problem.message).join("\n"));
    this.name = "ProblemList";
  }
}

/** Every problem of a config file. */
export class ConfigError extends ProblemList {
  override readonly name = "ConfigError";
}

/** The message of an unknown thrown value, for use inside another message. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
