// Checks whether this Node.js can run reprise. It runs before everything else, on Node.js of any age, so it imports
// only data. The minimum is stated once, as `engines` in package.json: undici 8, below the Kubernetes client, needs it.
import manifest from "../../package.json" with { type: "json" };

const MINIMUM = manifest.engines.node.replace(">=", "");

/** One sentence for the user of an old Node.js, or undefined if the version is new enough. */
export function nodeTooOld(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [minMajor = 0, minMinor = 0] = MINIMUM.split(".").map(Number);
  if (major > minMajor || (major === minMajor && minor >= minMinor)) return undefined;
  const problem = `reprise requires Node.js ${MINIMUM} or newer, this is ${version}`;
  return `${problem}; install a newer Node.js or use the container image`;
}
