// Reads a config file from disk: the only module of src/config that does I/O.
import { readFile } from "node:fs/promises";
import { RepriseError, reasonOf } from "../errors.ts";
import { type Config, defaultConfig, parseConfig } from "./config.ts";

/** The settings of a file, or the defaults without a file. */
export async function loadConfig(file: string | undefined): Promise<Config> {
  if (file === undefined) return defaultConfig;
  return parseConfig(await read(file), file);
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new RepriseError("CONFIG_UNREADABLE", { file, reason: reasonOf(error) }, { cause: error });
  }
}
