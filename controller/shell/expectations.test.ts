import { expect, it } from "vitest";
import { newGroup } from "../group/group.ts";
import { Expectations } from "./expectations.ts";

function waiting() {
  const clock = { now: 0 };
  const expectations = new Expectations(() => clock.now);
  const waitMs = () => expectations.waitMs("ml/train", newGroup());
  return { clock, expectations, waitMs };
}

it("a group waits until its last write is visible", () => {
  const { expectations, waitMs } = waiting();
  let visible = false;
  expect(waitMs()).toBe(0);
  expectations.expect("ml/train", () => visible);
  expect(waitMs()).toBe(5_000);
  visible = true;
  expect(waitMs()).toBe(0);
});

it("a group waits for both writes of one decision", () => {
  const { expectations, waitMs } = waiting();
  const visible = { jobSet: false, status: true };
  expectations.expect("ml/train", () => visible.jobSet);
  expectations.expect("ml/train", () => visible.status);
  expect(waitMs()).toBe(5_000);
  visible.jobSet = true;
  expect(waitMs()).toBe(0);
});

it("a write that never becomes visible delays a group for five seconds only", () => {
  const { clock, expectations, waitMs } = waiting();
  expectations.expect("ml/train", () => false);
  clock.now = 4_999;
  expect(waitMs()).toBe(1);
  clock.now = 5_000;
  expect(waitMs()).toBe(0);
});

it("a forgotten group and other groups do not wait", () => {
  const { expectations, waitMs } = waiting();
  expectations.expect("ml/train", () => false);
  expect(expectations.waitMs("ml/other", newGroup())).toBe(0);
  expectations.forget("ml/train");
  expect(waitMs()).toBe(0);
});
