import { expect, it } from "vitest";
import { readStep } from "./step.ts";

it.each([
  ["step=1234", 1234],
  ["step=1234\n", 1234],
  ["1234\n", 1234],
  [" step = 5", undefined],
  ["step= 5", 5],
  ["step=0", 0],
  ["step=5\nloss=0.1", 5],
  ["", undefined],
  ["step=", undefined],
  ["step=-1", undefined],
  ["step=1.5", undefined],
  ["step=9999999999999999999999", undefined],
  ["checkpoint-500", undefined],
])("reads %j as %j", (text, step) => expect(readStep(text)).toBe(step));
