import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { lines } from "./lines.ts";

async function* cut(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let start = 0;
  for (let turn = 0; start < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    yield bytes.slice(start, start + size);
    start += size;
  }
}

async function collect(source: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = [];
  for await (const line of source) all.push(line);
  return all;
}

test("any text arrives intact, however its bytes are split into chunks", async () => {
  // One to four bytes each.
  const line = fc.array(fc.constantFrom("a", '"', "é", "漢", "😀"), { minLength: 1, maxLength: 12 });
  const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 8 }), sizes, async (characters, chunkSizes) => {
      const expected = characters.map((line) => line.join(""));
      const bytes = Buffer.from(expected.map((text) => `${text}\n`).join(""));
      expect(await collect(lines(cut(bytes, chunkSizes)))).toEqual(expected);
    }),
  );
});

test("a line cut off by a lost connection is not delivered", async () => {
  expect(await collect(lines(cut(Buffer.from('{"a":1}\n{"b":'), [3])))).toEqual(['{"a":1}']);
});

test("a line of many chunks is joined once, which takes linear time", async () => {
  const long = "x".repeat(1024 * 1024);
  const bytes = Buffer.from(`${long}\nend\n`);
  const concat = vi.spyOn(Buffer, "concat");
  const [first, second] = await collect(lines(cut(bytes, [4096])));
  expect(concat).toHaveBeenCalledTimes(1);
  concat.mockRestore();
  expect(first?.length).toBe(long.length);
  expect(second).toBe("end");
});
