import { styleText } from "node:util";
import { describe, expect, it } from "vitest";
import { animatedSvg } from "./animated-svg.ts";
import { paced, record } from "./terminal.ts";

const UP = "\u001b[2A\u001b[J";

/** The text of each line at the end. */
function atEnd({ versions }: ReturnType<typeof record>): readonly string[] {
  const lines: string[] = [];
  for (const { line, to, spans } of versions) {
    if (to === undefined) lines[line] = spans.map(({ text }) => text).join("");
  }
  return lines;
}

describe("the recording of a terminal", () => {
  it("has the lines of a program, whether or not they end with a carriage return", () => {
    expect(atEnd(record([{ at: 0, text: "one\r\ntwo\nthree" }]))).toEqual(["one", "two", "three"]);
  });

  it("has the colors", () => {
    const red = styleText(["bold", "red"], "b", { validateStream: false });
    // A sequence may be cut in two.
    const [from, to] = [red.slice(0, 3), red.slice(3)];
    const [version] = record([from, to].map((text, at) => ({ at, text }))).versions;
    expect(version?.spans).toEqual([{ text: "b", style: { bold: true, color: "red" } }]);
  });

  it("has what was drawn over, with the time in which it was seen", () => {
    const recording = record([
      { at: 0, text: "head\nframe 1\nframe 1\n" },
      { at: 1, text: `${UP}frame 2\nframe 2\n` },
      { at: 2, text: "\rprogress" },
      { at: 3, text: "\r\u001b[2Kdone\n" },
    ]);
    expect(atEnd(recording)).toEqual(["head", "frame 2", "frame 2", "done"]);
    expect(recording.versions.filter(({ to }) => to !== undefined)).toMatchObject([
      { line: 1, from: 0, to: 1 },
      { line: 2, from: 0, to: 1 },
      { line: 3, from: 2, to: 3 },
    ]);
  });

  it("is played without long pauses, and with time to read", () => {
    const outputs = [0, 100, 100].map((at) => ({ at, text: "line\n".repeat(at === 0 ? 1 : 10) }));
    expect(paced(outputs, { longest: 2, perLine: 0.1 }).map(({ at }) => at)).toEqual([0, 2, 3]);
  });
});

describe("the animated picture", () => {
  const recording = record([
    { at: 0, text: "a < b\n" },
    { at: 1, text: "second\nthird\n" },
  ]);

  it("shows each line from its time on, and scrolls when the screen is full", () => {
    const svg = animatedSvg(recording, { columns: 20, rows: 2, title: "t & t", rest: 1 });
    expect(svg).toContain("a &lt; b");
    expect(svg).toContain("<title>t &amp; t</title>");
    expect(svg).toContain("@keyframes v1{0%{visibility:hidden}50.00%{visibility:visible}}");
    // Four lines were reached, and two fit.
    expect(svg).toMatch(/@keyframes scroll\{0%\{transform:none\}50\.00%\{transform:translateY\(-34px\)\}\}/);
  });
});
