import { expect, test, vi } from "vitest";
import { VirtualClock } from "../kube/testing/virtual-clock.ts";
import { drain } from "./drain.ts";

/** Drains a server whose number of open connections the test controls. */
function startDrain(times: { readonly minMs: number; readonly maxMs: number }) {
  const clock = new VirtualClock();
  const server = {
    connections: 1,
    startDraining: vi.fn(),
    openConnections: async () => server.connections,
    close: vi.fn(),
  };
  const done = drain(server, times, clock);
  return { clock, server, done };
}

test("a server keeps serving while a client holds a connection, and closes once it is gone", async () => {
  const { clock, server, done } = startDrain({ minMs: 0, maxMs: 60_000 });
  expect(server.startDraining).toHaveBeenCalled();
  await clock.advance(30_000);
  expect(server.close).not.toHaveBeenCalled();
  server.connections = 0;
  await clock.advance(300);
  await done;
  expect(server.close).toHaveBeenCalledTimes(1);
});

test("a server without connections keeps serving for the minimum time", async () => {
  const { clock, server, done } = startDrain({ minMs: 10_000, maxMs: 60_000 });
  server.connections = 0;
  await clock.advance(9_999);
  expect(server.close).not.toHaveBeenCalled();
  await clock.advance(300);
  await done;
  expect(server.close).toHaveBeenCalledTimes(1);
});

test("a client that never closes its connection does not keep the server longer than the maximum", async () => {
  const { clock, server, done } = startDrain({ minMs: 0, maxMs: 60_000 });
  await clock.advance(59_000);
  expect(server.close).not.toHaveBeenCalled();
  await clock.advance(1_100);
  await done;
  expect(server.close).toHaveBeenCalledTimes(1);
});
