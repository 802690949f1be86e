import { annotated, describeRule, OTHER_KIND } from "../../../test/builders/rule-examples.ts";
import { ANNOTATION } from "../../api/names.ts";
import { unknownAnnotations } from "./unknown-annotations.ts";

describeRule(unknownAnnotations, {
  accepts: ["a known annotation", annotated(ANNOTATION.maxRestarts, "3")],
  reports: [
    "a mistyped annotation with the name that was meant",
    annotated("reprise.dev/max-restart", "3"),
    "metadata.annotations[reprise.dev/max-restart]",
    /did you mean reprise\.dev\/max-restarts\?/,
  ],
  ignores: OTHER_KIND,
});
