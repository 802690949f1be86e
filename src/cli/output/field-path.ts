// Parses the field paths of findings: "spec.replicatedJobs[0].name", "metadata.annotations[reprise.dev/inject]". Pure.
import type { Path } from "../../json/yaml-source.ts";

const STEP = /\[([^\]]*)\]|([^.[\]]+)/g;

export function parseFieldPath(text: string): Path {
  return [...text.matchAll(STEP)].map(([, bracketed, plain]) => {
    const step = bracketed ?? plain ?? "";
    return bracketed !== undefined && /^\d{1,9}$/.test(step) ? Number(step) : step;
  });
}
