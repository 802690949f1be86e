// The settings of injection. The `injection` section of the config has this shape.

export interface InjectionSettings {
  /** Whether a JobSet without the annotation reprise.dev/inject is injected. */
  readonly default: "enabled" | "disabled";
  /** What happens to a replicatedJob that cannot restart in place. */
  readonly onUnsupported: "leave" | "refuse";
  readonly agentImage: string;
  readonly agentPullPolicy: "IfNotPresent" | "Always" | "Never";
  /** Names of Secrets, added to the imagePullSecrets of each Pod. */
  readonly imagePullSecrets: readonly string[];
  /** `none`: agents get no resources, unless annotations of the JobSet set them. */
  readonly agentResources: "none" | { readonly cpu: string; readonly guaranteedCpu: string; readonly memory: string };
  /** The port of the agent's startup probe. `none`: a process of the agent asks instead. */
  readonly agentPort: number | "none";
  /** The restart budget of JobSets whose budget neither they nor their Namespace set. Undefined: derived. */
  readonly defaultMaxRestarts?: number | undefined;
  /** Exit code with which an agent requests the restart of its Pod. */
  readonly restartExitCode: number;
}
