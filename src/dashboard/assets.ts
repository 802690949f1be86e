// The files of the page, as the build writes them. They are read once, so that no path of a request reaches the disk.
import { readFileSync } from "node:fs";
import { RepriseError, reasonOf } from "../errors.ts";

interface Asset {
  readonly type: string;
  readonly body: Buffer;
}

export type Assets = ReadonlyMap<string, Asset>;

/** Path → file and content type. */
const FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  "/": ["index.html", "text/html; charset=utf-8"],
  "/page.js": ["page.js", "text/javascript; charset=utf-8"],
  "/style.css": ["style.css", "text/css; charset=utf-8"],
  "/icon.svg": ["icon.svg", "image/svg+xml"],
};

/** The build puts this module into dist/chunks and the page into dist/dashboard. */
const FOLDER = new URL("../dashboard/", import.meta.url);

export function readAssets(folder: URL = FOLDER): Assets {
  return new Map(
    Object.entries(FILES).map(([path, [file, type]]) => {
      const url = new URL(file, folder);
      try {
        return [path, { type, body: readFileSync(url) }];
      } catch (error) {
        const params = { file: url.pathname, reason: reasonOf(error) };
        throw new RepriseError("DASHBOARD_PAGE_MISSING", params, { cause: error });
      }
    }),
  );
}
