// Bearer tokens from a file that rotates (projected service account tokens). The file is read for every request:
// reading 1 KB from the page cache costs less than encoding the request, and a rotated token is used at once.
// client-node's own reader caches the token for a minute and does not trim it.

import { readFile } from "node:fs/promises";
import type { RequestOptions } from "node:https";
import type { KubeConfig, User } from "@kubernetes/client-node";
import { RepriseError, reasonOf } from "../errors.ts";

type Authenticator = Parameters<KubeConfig["addAuthenticator"]>[0];

/** Marks a user whose token comes from a file, in client-node's terms. */
const PROVIDER = "reprise-token-file";

export function withTokenFile(user: User, path: string): User {
  // client-node would prefer a static token, while kubectl prefers the file.
  const { token: _static, authProvider: _provider, ...rest } = user;
  return { ...rest, authProvider: { name: PROVIDER, config: { path } } };
}

export class TokenFileAuth implements Authenticator {
  #last: string | undefined;

  isAuthProvider(user: User): boolean {
    return user.authProvider?.name === PROVIDER;
  }

  async applyAuthentication(user: User, options: { headers?: RequestOptions["headers"] }): Promise<void> {
    const token = await this.#read(String(user.authProvider.config.path));
    const headers = Array.isArray(options.headers) ? {} : options.headers;
    options.headers = { ...headers, Authorization: `Bearer ${token}` };
  }

  async #read(path: string): Promise<string> {
    try {
      const token = (await readFile(path, "utf8")).trim();
      if (token === "") throw new Error("the file is empty");
      this.#last = token;
      return token;
    } catch (error) {
      // A file that vanishes for a moment must not stop a process whose last token is still valid.
      if (this.#last !== undefined) return this.#last;
      throw new RepriseError("TOKEN_FILE_UNREADABLE", { path, reason: reasonOf(error) }, { cause: error });
    }
  }
}
