import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { parse } from "yaml";
import type { Lack } from "../api/prerequisites.ts";
import type { JobSetRequest } from "./admission.ts";
import { skipUnsupported } from "./skip-unsupported.ts";
import { cores } from "./testing.ts";

const object = parse(readFileSync("examples/train.yaml", "utf8"));
const create: JobSetRequest = { operation: "CREATE", namespace: "team", object };

const old: Lack = { reason: "jobset-prunes-fields", message: "upgrade JobSet to 0.10 or newer" };

it("injects where the cluster lacks nothing, and where what it lacks does no harm to a JobSet", () => {
  expect(skipUnsupported(cores, () => []).inject(create).kind).toBe("injected");
  const untrusted: Lack = { reason: "webhook-untrusted", message: "" };
  expect(skipUnsupported(cores, () => [untrusted]).inject(create).kind).toBe("injected");
});

it("leaves a new JobSet plain where injection would not work, and says why", () => {
  expect(skipUnsupported(cores, () => [old]).inject(create)).toEqual({
    kind: "skipped",
    reason: "jobset-prunes-fields",
    warnings: [
      {
        rule: "jobset-prunes-fields",
        path: "",
        message: "not injected, this JobSet will not restart in place: upgrade JobSet to 0.10 or newer",
      },
    ],
  });
});

it("does not say a second time, with a wrong reason, that it is not injected", () => {
  const warnings = (lacks: readonly Lack[]) => {
    return skipUnsupported(cores, () => lacks)
      .validate(create)
      .warnings.map(({ rule }) => rule);
  };
  expect(warnings([])).toContain("injected");
  expect(warnings([old])).not.toContain("injected");
});

it("gives an injected JobSet its injected parts back all the same", () => {
  const withheld = skipUnsupported(cores, () => [old]);
  const outcome = cores.inject(create);
  if (outcome.kind !== "injected") throw new Error("the example is not injected");
  const update: JobSetRequest = { operation: "UPDATE", namespace: "team", object, oldObject: outcome.object };
  expect(withheld.inject(update)).toEqual(cores.inject(update));
  expect(withheld.inject(update)).toMatchObject({ kind: "injected" });
});

it("follows what is known now", () => {
  let lacks: readonly Lack[] = [old];
  const withheld = skipUnsupported(cores, () => lacks);
  expect(withheld.inject(create).kind).toBe("skipped");
  lacks = [];
  expect(withheld.inject(create).kind).toBe("injected");
});
