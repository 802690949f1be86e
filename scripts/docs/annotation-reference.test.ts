import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ANNOTATION_TEXTS } from "../../src/api/annotation-texts.ts";
import { ANNOTATION } from "../../src/api/names.ts";
import { preview } from "../../src/validate/preview.ts";
import { policies, settings } from "../../test/builders/injection.ts";
import { container, jobSet } from "../../test/builders/jobset.ts";
import { withAnnotations } from "./annotation-reference.ts";

const page = readFileSync("docs/annotations.md", "utf8");

/** The volume of the progress file. */
const CHECKPOINTS = { volumeMounts: [{ name: "checkpoints", mountPath: "/checkpoints" }] };

describe("docs/annotations.md", () => {
  it("lists the annotations of the code (otherwise run: node scripts/docs.ts)", () => {
    expect(withAnnotations(page)).toBe(page);
  });

  it("shows examples that are accepted, all at once", () => {
    const object = jobSet()
      .replicatedJob("driver", { pods: 1, containers: [container("trainer")] })
      .replicatedJob("workers", { pods: 2, containers: [container("trainer", CHECKPOINTS), container("log")] });
    for (const [key, { example }] of Object.entries(ANNOTATION_TEXTS)) {
      const isWritten = key !== "inject" && key !== "status";
      if (isWritten) object.annotation(ANNOTATION[key as keyof typeof ANNOTATION], example);
    }
    const request = { namespace: "default", object: object.build(), config: settings, policies };
    expect(preview(request).verdict.errors).toEqual([]);
  });
});
