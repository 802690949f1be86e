// Completion scripts for shells, made from the commands themselves. Static: starting Node.js at each TAB would take
// longer than typing. Pure.

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

export interface CompletedOption {
  /** Such as -n and --namespace. */
  readonly flags: readonly string[];
  readonly description: string;
  /** Values to choose from. */
  readonly choices: readonly string[];
  readonly takesValue: boolean;
}

interface CompletedCommand {
  readonly name: string;
  readonly description: string;
  readonly options: readonly CompletedOption[];
}

export interface CompletedProgram {
  readonly commands: readonly CompletedCommand[];
  /** Accepted by every command. */
  readonly global: readonly CompletedOption[];
}

/** `name` is the command that the user types: reprise, or kubectl-reprise as a plugin. */
export function completionScript(shell: Shell, name: string, program: CompletedProgram): string {
  const scripts = { bash, zsh, fish };
  return scripts[shell](name, program);
}

function functionName(name: string): string {
  return `_${name.replaceAll(/\W/g, "_")}`;
}

function flagsOf(command: CompletedCommand, { global }: CompletedProgram): string {
  return [...command.options, ...global].flatMap(({ flags }) => flags).join(" ");
}

function bash(name: string, program: CompletedProgram): string {
  const complete = functionName(name);
  const options = program.commands.map((command) => `    ${command.name}) words="${flagsOf(command, program)}" ;;`);
  return `# bash completion of ${name}: source <(${name} completion bash)
${complete}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" command="" word words
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) command="$word"; break ;; esac
  done
  case "$command \${COMP_WORDS[COMP_CWORD-1]}" in
${choiceCases(program)}
  esac
  case "$command" in
    "") words="${program.commands.map((command) => command.name).join(" ")}" ;;
${options.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F ${complete} ${name}
`;
}

/** The values of an option differ between commands. */
function choiceCases({ commands, global }: CompletedProgram): string {
  const cases = [
    ...commands.flatMap((command) => command.options.map((option) => ({ of: `"${command.name} "`, option }))),
    ...global.map((option) => ({ of: "*' '", option })),
  ];
  return cases
    .filter(({ option }) => option.choices.length > 0)
    .map(({ of, option }) => {
      const patterns = option.flags.map((flag) => `${of}${flag}`).join("|");
      return `    ${patterns}) COMPREPLY=($(compgen -W "${option.choices.join(" ")}" -- "$current")); return ;;`;
    })
    .join("\n");
}

function zsh(name: string, program: CompletedProgram): string {
  return `#compdef ${name}
# zsh completion of ${name}: source <(${name} completion zsh)
autoload -U +X bashcompinit && bashcompinit
${bash(name, program)}`;
}

function fish(name: string, program: CompletedProgram): string {
  const commands = program.commands.map(
    (command) => `complete -c ${name} -n __fish_use_subcommand -f -a ${command.name} -d ${quoted(command.description)}`,
  );
  const options = program.commands.flatMap((command) =>
    [...command.options, ...program.global].map((option) => {
      const flags = option.flags.map((flag) => (flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
      const values =
        option.choices.length > 0 ? ` -x -a ${quoted(option.choices.join(" "))}` : option.takesValue ? " -r" : "";
      const condition = `-n "__fish_seen_subcommand_from ${command.name}"`;
      return `complete -c ${name} ${condition} ${flags.join(" ")}${values} -d ${quoted(option.description)}`;
    }),
  );
  return [`# fish completion of ${name}: ${name} completion fish | source`, ...commands, ...options, ""].join("\n");
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
