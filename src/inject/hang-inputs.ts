// The annotations of a JobSet that ask for hang detection, read and checked once. Pure.
import { annotationPath, type Finding } from "../api/admission.ts";
import { DURATION_FORM, parseDuration } from "../api/duration.ts";
import { ANNOTATION } from "../api/names.ts";
import { quoted } from "../json/brief.ts";

export interface HangInputs {
  /** Milliseconds. */
  readonly hangAfter: number | "learned";
  readonly startDeadline?: number;
  readonly progressFile?: string;
  readonly detection: Detection;
}

const DETECTIONS = ["file", "nccl-ras"] as const;
type Detection = (typeof DETECTIONS)[number];

/** Each of them asks for detection. */
export const HANG_ANNOTATIONS: readonly string[] = [
  ANNOTATION.hangAfter,
  ANNOTATION.onHang,
  ANNOTATION.startDeadline,
  ANNOTATION.progressFile,
  ANNOTATION.hangDetection,
];

/** What agents can tell apart: they look ten times a second at most. */
const LEAST_MS = 1_000;

/** A year. More is a typing error. */
const MOST_MS = 31_536_000_000;

/** Undefined if the JobSet does not ask for detection. An invalid value adds a finding and reads as not set. */
export function readHangInputs(texts: Readonly<Record<string, string>>, errors: Finding[]): HangInputs | undefined {
  if (HANG_ANNOTATIONS.every((key) => texts[key] === undefined)) return undefined;
  const after = texts[ANNOTATION.hangAfter];
  const startDeadline = duration(texts, ANNOTATION.startDeadline, DURATION_FORM, errors);
  const progressFile = filePath(texts[ANNOTATION.progressFile], errors);
  const detection = detectionOf(texts[ANNOTATION.hangDetection], errors);
  if (detection === "nccl-ras" && progressFile !== undefined)
    errors.push(finding(ANNOTATION.hangDetection, '"nccl-ras" reads no file; remove this annotation or progress-file'));
  return {
    hangAfter:
      after === undefined || after === LEARNED
        ? LEARNED
        : (duration(texts, ANNOTATION.hangAfter, `"${LEARNED}" or ${DURATION_FORM}`, errors) ?? LEARNED),
    ...(startDeadline === undefined ? {} : { startDeadline }),
    ...(progressFile === undefined ? {} : { progressFile }),
    detection,
  };
}

const LEARNED = "learned";

function duration(
  texts: Readonly<Record<string, string>>,
  key: string,
  form: string,
  errors: Finding[],
): number | undefined {
  const text = texts[key];
  if (text === undefined) return undefined;
  const span = parseDuration(text);
  if (span !== undefined && span >= LEAST_MS && span <= MOST_MS) return span;
  const problem = span === undefined ? `is not ${form}` : "is not between 1s and a year";
  errors.push(finding(key, `${quoted(text)} ${problem}; use a value such as "15m"`));
  return undefined;
}

/** The path is that in the worker, so it must not depend on where the worker starts. */
function filePath(text: string | undefined, errors: Finding[]): string | undefined {
  if (text === undefined) return undefined;
  const parts = text.split("/");
  const isPlain = parts.slice(1).every((part) => part !== "" && part !== "." && part !== "..");
  if (parts.length > 1 && parts[0] === "" && isPlain && !text.includes("$(")) return text;
  const example = "/checkpoints/latest";
  errors.push(
    finding(
      ANNOTATION.progressFile,
      `${quoted(text)} is not the absolute path of a file; use one such as "${example}"`,
    ),
  );
  return undefined;
}

function detectionOf(text: string | undefined, errors: Finding[]): Detection {
  const known = DETECTIONS.find((each) => each === text);
  if (text !== undefined && known === undefined)
    errors.push(finding(ANNOTATION.hangDetection, `${quoted(text)} is neither "file" nor "nccl-ras"; use one of them`));
  return known ?? "file";
}

function finding(key: string, message: string): Finding {
  return { rule: "hang-detection", path: annotationPath(key), message };
}
