// Whether a request may be answered at all. A page of another site can make a browser resolve its own name to this
// address (DNS rebinding), but it cannot change the Host header. Pure.

/** Names of this machine that no other site can own. */
const LOOPBACK: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/** `host` is the header; any port is fine, because port forwarding changes it. */
export function isAllowedHost(host: string | undefined, allowed: readonly string[]): boolean {
  const name = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(:\d{1,5})?$/i.exec(host ?? "")?.[1]?.toLowerCase();
  if (name === undefined) return false;
  return LOOPBACK.includes(name) || allowed.some((each) => each.toLowerCase() === name);
}

/** The stream is for our own page: a script of another site has no use for it but to exhaust connections. */
export function isOwnPage(fetchSite: string | undefined): boolean {
  return fetchSite === undefined || fetchSite === "same-origin" || fetchSite === "none";
}
