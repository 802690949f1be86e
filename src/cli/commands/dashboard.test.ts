// Runs the bundled command as users do: as a process that serves until it is terminated.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { eventsOf, nextEvent } from "../../dashboard/testing/event-reader.ts";
import { json, scriptedServer } from "../../kube/testing/scripted-server.ts";
import { bundledCli, SLOW } from "../testing.ts";

const cli = bundledCli();

test("serves the page and the stream of the kubeconfig's namespace on loopback until SIGTERM", SLOW, async () => {
  await using server = await scriptedServer((_request, response) =>
    json(response, 403, { kind: "Status", status: "Failure", code: 403, message: "not for you" }),
  );
  const args = ["dashboard", "--port", "0", "--kubeconfig", server.kubeconfig({ token: "t" })];
  const child = spawn(process.execPath, [join(cli.folder, "reprise.js"), ...args], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const exit = once(child, "exit");
  const [line] = await once(createInterface(child.stdout), "line");
  const url = /^dashboard: (http:\/\/127\.0\.0\.1:\d+\/) \(Ctrl\+C ends it\)$/.exec(String(line))?.[1] ?? "";
  expect(url).not.toBe("");

  const html = await (await fetch(url)).text();
  const files = [...html.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, file = ""]) => file);
  expect(files.toSorted()).toEqual(["icon.svg", "page.js", "style.css"]);
  for (const file of files) expect((await fetch(new URL(file, url))).status, file).toBe(200);

  const ending = new AbortController();
  const events = eventsOf(new URL("events", url).href, ending.signal);
  const { problems } = await nextEvent(events, "problems", (event) => event.problems.length === 3);
  expect(problems.map(({ watched }) => watched)).toEqual(["inplacerestarts", "jobsets", "pods"]);
  expect(problems[0]?.message).toContain("not for you");
  ending.abort();

  child.kill("SIGTERM");
  expect(await exit).toEqual([0, null]);
  const paths = server.requests.map((request) => request.replace(/\?.*/, ""));
  expect([...new Set(paths)].toSorted()).toEqual([
    "GET /api/v1/namespaces/team/pods",
    "GET /apis/jobset.x-k8s.io/v1alpha2/namespaces/team/jobsets",
    "GET /apis/reprise.dev/v1alpha1/namespaces/team/inplacerestarts",
  ]);
});

test("refuses a port that is none", SLOW, async () => {
  const { code, stderr } = await cli.run(["dashboard", "--port", "99999"]);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("expected a number from 0 to 65535") });
});
