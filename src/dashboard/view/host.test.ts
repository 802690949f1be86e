import { describe, expect, it } from "vitest";
import { isAllowedHost, isOwnPage } from "./host.ts";

describe("the Host header", () => {
  it.each([
    "localhost",
    "localhost:8084",
    "LOCALHOST:1",
    "127.0.0.1:8084",
    "[::1]:8084",
    "board.example",
    "Board.Example:443",
  ])("%s is allowed", (host) => {
    expect(isAllowedHost(host, ["board.example"])).toBe(true);
  });

  it.each([
    undefined,
    "",
    "evil.example",
    "evil.example:8084",
    "localhost.evil.example",
    "board.example.evil.example",
    "127.0.0.1.evil.example",
    "127.0.0.2",
    "[::2]:8084",
    "localhost:8084:1",
    "evil.example/localhost",
    "user@localhost",
  ])("%s is refused", (host) => {
    expect(isAllowedHost(host, ["board.example"])).toBe(false);
  });
});

describe("the stream", () => {
  it.each([undefined, "none", "same-origin"])("is for a request from %s", (site) => {
    expect(isOwnPage(site)).toBe(true);
  });

  it.each(["cross-site", "same-site", "anything"])("is not for a request from %s", (site) => {
    expect(isOwnPage(site)).toBe(false);
  });
});
