// One JSON line per state change. The line before an exit is the one that matters: bun's console writes before it returns, and
// does not mind a log that nobody reads any more, which must not cost a running worker.

type Fields = Readonly<Record<string, string | number | undefined>>;

export const log = {
  info: (message: string, fields?: Fields) => write("info", message, fields),
  warn: (message: string, fields?: Fields) => write("warn", message, fields),
};

export type Log = typeof log;

function write(level: string, msg: string, fields?: Fields): void {
  console.log(JSON.stringify({ level, time: new Date().toISOString(), ...fields, msg }));
}
