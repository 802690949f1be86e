// What every hollow agent is to its kubelet, on both sides: something that starts in a Pod, may be killed, and reports
// what it does. Also the counters of what it sends and receives.

/** Where an agent runs: the environment of its container, with the API server and the credentials of its Pod. */
export interface AgentPlace {
  readonly env: Readonly<Record<string, string>>;
  readonly server: { readonly host: string; readonly port: number };
  /** Holds `token` and `ca.crt`. */
  readonly credentialsFolder: string;
}

interface AgentEvents {
  /** The epoch or attempt is on the Pod. */
  published(): void;
  lifted(): void;
  /** Its process would end now. */
  exited(exitCode: number): void;
}

export interface HollowAgent {
  /** As SIGKILL: it does nothing more and reports nothing more. */
  kill(): void;
}

export type StartAgent = (place: AgentPlace, events: AgentEvents, traffic: Traffic) => HollowAgent;

/** What all agents of a fleet sent and received. */
export interface Traffic {
  requests: number;
  watches: number;
  /** Bodies of watches, without TLS and HTTP framing. */
  watchBytes: number;
  /** Requests that the API server refused with 429, and all other failures. */
  refused: number;
  failed: number;
  /** The first of each kind, to explain a run that went wrong. */
  readonly errors: string[];
}

export function newTraffic(): Traffic {
  return { requests: 0, watches: 0, watchBytes: 0, refused: 0, failed: 0, errors: [] };
}

const KEPT_ERRORS = 10;

export function countFailure(traffic: Traffic, status: number | undefined, message: string): void {
  if (status === 429) traffic.refused += 1;
  else traffic.failed += 1;
  if (traffic.errors.length < KEPT_ERRORS && !traffic.errors.includes(message)) traffic.errors.push(message);
}

/** What a kubelet tells the process of all agents. Each start of an agent has a name of its own. */
export type AgentCommand =
  | { readonly do: "start"; readonly agent: string; readonly place: AgentPlace }
  | { readonly do: "kill"; readonly agent: string }
  | { readonly do: "count" };

/** What that process answers, with times in milliseconds since 1970. */
export type AgentEvent =
  | { readonly what: "published" | "lifted"; readonly agent: string; readonly at: number }
  | { readonly what: "exited"; readonly agent: string; readonly at: number; readonly exitCode: number }
  | { readonly what: "counted"; readonly traffic: Traffic };
