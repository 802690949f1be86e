import { POD } from "../../../test/builders/injection.ts";
import { broken, describeRule, intact, jobPath, NOT_INJECTED } from "../../../test/builders/rule-examples.ts";
import { LABEL } from "../../api/names.ts";
import { injectionMetadata } from "./injection-metadata.ts";

describeRule(injectionMetadata, {
  accepts: ["an intact injected JobSet", intact],
  reports: [
    "Pods that lost their label",
    broken([...POD, "metadata", "labels"], {}),
    `${jobPath}.template.metadata.labels[${LABEL.injected}]`,
    /the controller would not see these Pods/,
  ],
  ignores: NOT_INJECTED,
});
