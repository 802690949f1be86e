// Listening on a port, with an error that says which one and for what.
import type { Server } from "node:net";
import { RepriseError, reasonOf } from "../errors.ts";

/** Waits for a server to listen; `what` is who will call that port, for the error. */
export async function listening(what: string, port: number, started: Promise<unknown>): Promise<void> {
  try {
    await started;
  } catch (error) {
    throw new RepriseError("PORT_UNAVAILABLE", { what, port, reason: reasonOf(error) }, { cause: error });
  }
}

/** The port a server got, which is not the one asked for when that was 0. */
export function portOf(server: Server): number {
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the server does not listen on a port");
  return address.port;
}
