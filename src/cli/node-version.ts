// Whether this Node can run reprise. Imports nothing: it runs before everything else, on Nodes of any age.

/** The oldest Node that undici 8, below the Kubernetes client, runs on. */
const OLDEST = [22, 19] as const;

/** One sentence for the user of an old Node, or undefined when the version will do. */
export function nodeTooOld(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [oldestMajor, oldestMinor] = OLDEST;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return undefined;
  return `reprise needs Node.js ${OLDEST.join(".")} or newer and this is ${version}; install a newer Node.js or use the container image.`;
}
