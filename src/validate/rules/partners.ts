// Partners whose containers do not survive a restart in place as they are. Each gives one warning that points to
// docs/compatibility.md. Partners without a catch give none.
import { jobPath, podPath } from "../../inject/parts/template.ts";
import { isObject, listAt, objectAt, textAt } from "../../json/edit.ts";
import type { JsonObject } from "../../json/types.ts";
import { once } from "../once.ts";
import { judged, type Rule } from "../rule.ts";
import type { Member } from "../subject.ts";

const PAGE = "docs/compatibility.md";

/** `find` returns the path at which a Pod template uses the partner. */
function partner(name: string, describe: string, message: string, find: (member: Member) => string | undefined): Rule {
  return {
    name,
    describe,
    severity: "warning",
    scope: "opted-in",
    check: ({ participants }) =>
      judged(
        once(
          participants.flatMap((member) => {
            const path = find(member);
            return path === undefined ? [] : [{ path, message: `${message}; see ${PAGE}#${name}` }];
          }),
        ),
        "the JobSet does not use it",
      ),
  };
}

const GCS_FUSE_ANNOTATION = "gke-gcsfuse/volumes";
const GCS_FUSE_DRIVER = "gcsfuse.csi.storage.gke.io";

export const gcsFuse = partner(
  "gcs-fuse",
  "No Pod mounts a bucket with the sidecar of GCS FUSE: its driver does not support that the sidecar is restarted.",
  "the GCS FUSE sidecar does not support a restart, so the mount may be lost after a restart in place",
  ({ index, template: { pod, podSpec } }) => {
    const annotations = objectAt(objectAt(pod, "metadata"), "annotations");
    if (annotations?.[GCS_FUSE_ANNOTATION] === "true") {
      return `${jobPath(index)}.template.metadata.annotations[${GCS_FUSE_ANNOTATION}]`;
    }
    const volumes = listAt(podSpec, "volumes");
    const position = volumes.findIndex((volume) => isObject(volume) && usesGcsFuse(volume));
    return position === -1 ? undefined : `${podPath(index)}.volumes[${position}].csi.driver`;
  },
);

function usesGcsFuse(volume: JsonObject): boolean {
  return objectAt(volume, "csi")?.["driver"] === GCS_FUSE_DRIVER;
}

/** Its containers are pathways-proxy, pathways-rm and pathways-worker, whichever tool writes the JobSet. */
const PATHWAYS_PREFIX = "pathways-";

export const pathways = partner(
  "pathways",
  "The JobSet does not run Pathways, which recovers its workers itself: a restart in place restarts all of it.",
  "Pathways recovers single workers itself, and a restart in place restarts its head and all workers instead",
  ({ index, template: { podSpec } }) => {
    for (const key of ["initContainers", "containers"] as const) {
      const position = listAt(podSpec, key).findIndex(
        (container) => isObject(container) && textAt(container, "name")?.startsWith(PATHWAYS_PREFIX) === true,
      );
      if (position !== -1) return `${podPath(index)}.${key}[${position}].name`;
    }
    return undefined;
  },
);

/** Keys of Istio and Linkerd that ask for a proxy in this Pod. A label of the namespace is not visible here. */
const MESH_KEYS: readonly (readonly [field: "annotations" | "labels", key: string, value: string])[] = [
  ["annotations", "sidecar.istio.io/inject", "true"],
  ["labels", "sidecar.istio.io/inject", "true"],
  ["annotations", "linkerd.io/inject", "enabled"],
];

export const serviceMesh = partner(
  "service-mesh",
  "No Pod asks for the proxy of a service mesh: unless it is a native sidecar, it starts after the agent, which may " +
    "then have no network.",
  "a mesh proxy that is not a native sidecar starts after the agent, which then cannot reach the API server",
  ({ index, template: { pod } }) => {
    const metadata = objectAt(pod, "metadata");
    const found = MESH_KEYS.find(([field, key, value]) => objectAt(metadata, field)?.[key] === value);
    return found === undefined ? undefined : `${jobPath(index)}.template.metadata.${found[0]}[${found[1]}]`;
  },
);
