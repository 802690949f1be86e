// `npm run build`: everything that is shipped, into dist/.
import { bundleCli } from "./bundle.ts";

await bundleCli("dist");
