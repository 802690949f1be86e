// The part of the config that injection needs; the config's `injection` section has this shape.

export interface InjectionSettings {
  /** What happens to a JobSet that does not say. */
  readonly default: "enabled" | "disabled";
  readonly agentImage: string;
  readonly agentPullPolicy: "IfNotPresent" | "Always" | "Never";
  /** Names of Secrets, added to those of each Pod. */
  readonly imagePullSecrets: readonly string[];
  readonly agentResources: { readonly cpu: string; readonly guaranteedCpu: string; readonly memory: string };
  /** With this code an agent asks for the restart of its Pod. */
  readonly restartExitCode: number;
}
