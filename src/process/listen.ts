// Listening on a port, with an error that names the port and its purpose.
import type { Server } from "node:net";
import { RepriseError, reasonOf } from "../errors.ts";

/** Waits until a server listens; `what` is the purpose of the port, for the error. */
export async function listening(what: string, port: number, started: Promise<unknown>): Promise<void> {
  try {
    await started;
  } catch (error) {
    throw new RepriseError("PORT_UNAVAILABLE", { what, port, reason: reasonOf(error) }, { cause: error });
  }
}

/** The port that a server listens on, which differs from the requested one if that was 0. */
export function portOf(server: Server): number {
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the server does not listen on a port");
  return address.port;
}
