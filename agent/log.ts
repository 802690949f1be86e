// One JSON line per state change. bun's console writes synchronously, so the last line before an exit is not lost, and
// it ignores a closed standard output, which must not end a running worker.

type Fields = Readonly<Record<string, string | number | undefined>>;

export const log = {
  info: (message: string, fields?: Fields) => write("info", message, fields),
  warn: (message: string, fields?: Fields) => write("warn", message, fields),
};

export type Log = typeof log;

function write(level: string, msg: string, fields?: Fields): void {
  console.log(JSON.stringify({ level, time: new Date().toISOString(), ...fields, msg }));
}
