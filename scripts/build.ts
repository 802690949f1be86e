// `npm run build`: builds everything that is shipped, into dist/.
import { bundleCli } from "./bundle.ts";

await bundleCli("dist");
