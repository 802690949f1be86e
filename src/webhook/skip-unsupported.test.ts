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

it("a JobSet is injected if the cluster lacks nothing that injection needs", () => {
  expect(skipUnsupported(cores, () => []).inject(create).kind).toBe("injected");
  const untrusted: Lack = { reason: "webhook-untrusted", message: "" };
  expect(skipUnsupported(cores, () => [untrusted]).inject(create).kind).toBe("injected");
});

it("a new JobSet is skipped, with a warning, if the cluster does not support injection", () => {
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

it("validation does not warn again, with a wrong reason, that the JobSet is not injected", () => {
  const warnings = (lacks: readonly Lack[]) => {
    return skipUnsupported(cores, () => lacks)
      .validate(create)
      .warnings.map(({ rule }) => rule);
  };
  expect(warnings([])).toContain("injected");
  expect(warnings([old])).not.toContain("injected");
});

it("an injected JobSet keeps its injected parts if the cluster no longer supports injection", () => {
  const guarded = skipUnsupported(cores, () => [old]);
  const outcome = cores.inject(create);
  if (outcome.kind !== "injected") throw new Error("the example is not injected");
  const update: JobSetRequest = { operation: "UPDATE", namespace: "team", object, oldObject: outcome.object };
  expect(guarded.inject(update)).toEqual(cores.inject(update));
  expect(guarded.inject(update)).toMatchObject({ kind: "injected" });
});

it("injection resumes once the cluster supports it", () => {
  let lacks: readonly Lack[] = [old];
  const guarded = skipUnsupported(cores, () => lacks);
  expect(guarded.inject(create).kind).toBe("skipped");
  lacks = [];
  expect(guarded.inject(create).kind).toBe("injected");
});
