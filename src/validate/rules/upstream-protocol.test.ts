import { describeRule, plain } from "../../../test/builders/rule-examples.ts";
import { ANNOTATION } from "../../api/names.ts";
import { upstreamProtocol } from "./upstream-protocol.ts";

const UPSTREAM = { failurePolicy: { maxRestarts: 3, restartStrategy: "InPlaceRestart" } };

describeRule(upstreamProtocol, {
  accepts: ["restartStrategy InPlaceRestart without annotations", plain().spec(UPSTREAM).build()],
  reports: [
    "an annotation that has no effect with restartStrategy InPlaceRestart",
    plain().spec(UPSTREAM).annotation(ANNOTATION.maxRestarts, "3").build(),
    `metadata.annotations[${ANNOTATION.maxRestarts}]`,
    /has no effect with restartStrategy InPlaceRestart/,
  ],
  ignores: ["a JobSet with another restartStrategy", plain().build()],
});
