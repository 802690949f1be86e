import { expect, it } from "vitest";
import { parsePage } from "../scrape.ts";
import { newTraffic } from "./hollow-agent.ts";
import { byVerbAndResource, peakMemory, type Reading, usage } from "./measure.ts";

const series = (labels: string, count: number) => `apiserver_request_total{${labels}} ${count}`;

const page = (patches: number) =>
  [
    series(
      'code="200",group="",resource="pods",scope="resource",subresource="status",verb="PATCH",version="v1"',
      patches,
    ),
    series('code="429",group="",resource="pods",scope="resource",subresource="status",verb="PATCH",version="v1"', 2),
    series('code="200",group="",resource="pods",scope="resource",subresource="",verb="PATCH",version="v1"', 3),
    series('code="200",group="",resource="",scope="",subresource="/metrics",verb="GET",version=""', 9),
  ].join("\n");

const reading = (patches: number, cpu: number, watchBytes: number): Reading => ({
  cpu: { "kube-apiserver": cpu },
  requests: parsePage(page(patches), "apiserver_request_total"),
  traffic: { ...newTraffic(), watchBytes, requests: patches },
});

it("sums requests of one verb and resource, whatever their code", () => {
  expect([...byVerbAndResource(parsePage(page(5), "apiserver_request_total"))]).toEqual([
    ["PATCH pods/status", 7],
    ["PATCH pods", 3],
  ]);
});

it("reports only what was used between two readings", () => {
  const used = usage(reading(5, 1, 100), reading(8, 3.5, 450));
  expect(used).toMatchObject({ cpu: { "kube-apiserver": 2.5 }, watchBytes: 350, agentRequests: 3, refused: 0 });
  expect([...used.requests]).toEqual([["PATCH pods/status", 3]]);
});

it("a process that has started later counts from its start", () => {
  const used = usage({ ...reading(0, 0, 0), cpu: {} }, reading(0, 2, 0));
  expect(used.cpu).toEqual({ "kube-apiserver": 2 });
});

it("reads the peak memory of a process", () => {
  expect(peakMemory(process.pid)).toBeGreaterThan(20);
});
