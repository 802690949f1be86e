import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { GROUP_EPOCH, readGroupEpoch } from "./group-epoch.ts";

describe("readGroupEpoch", () => {
  const spec = { version: 41, deprecatedEpoch: 3, syncedEpoch: 4, heldStages: ["evaluators"] };

  it("reads back what the controller writes", () => {
    expect(readGroupEpoch({ spec })).toEqual(spec);
  });

  it("takes missing held stages as none", () => {
    expect(readGroupEpoch({ spec: { ...spec, heldStages: undefined } })).toEqual({ ...spec, heldStages: [] });
  });

  it.each(["version", "deprecatedEpoch", "syncedEpoch"])("reads nothing without %s", (field) => {
    expect(readGroupEpoch({ spec: { ...spec, [field]: undefined } })).toBeUndefined();
  });
});

it("the CRD has the same names, and requires what is read", () => {
  const { spec } = parse(readFileSync("manifests/crd/reprise.dev_groupepochs.yaml", "utf8"));
  const { group, version, plural, kind } = GROUP_EPOCH;
  expect(spec).toMatchObject({ group, names: { plural, kind }, versions: [{ name: version, served: true }] });
  const schema = spec.versions[0].schema.openAPIV3Schema.properties.spec;
  expect(schema.required).toEqual(["version", "deprecatedEpoch", "syncedEpoch"]);
  expect(Object.keys(schema.properties)).toEqual(["version", "deprecatedEpoch", "syncedEpoch", "heldStages"]);
});
