import { annotated, describeRule, UNSET } from "../../../test/builders/rule-examples.ts";
import { ANNOTATION } from "../../api/names.ts";
import { onHang } from "./on-hang.ts";

describeRule(onHang, {
  accepts: ["a known choice", annotated(ANNOTATION.onHang, "restart")],
  reports: [
    "a choice with a capital",
    annotated(ANNOTATION.onHang, "Restart"),
    `metadata.annotations[${ANNOTATION.onHang}]`,
    /"Restart" is not "warn" .* or "restart"/,
  ],
  ignores: UNSET,
});
