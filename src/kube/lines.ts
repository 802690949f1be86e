// Splits a byte stream into lines. A line is decoded once it is complete, so characters split over two chunks stay
// intact. Bytes after the last newline (an event cut off by a lost connection) are not delivered.

const NEWLINE = 0x0a;

export async function* lines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  // Parts of the incomplete line, joined once, so that a line of many chunks costs linear time.
  let pieces: Buffer[] = [];
  for await (const chunk of chunks) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      const tail = bytes.subarray(start, end);
      const line = pieces.length === 0 ? tail : Buffer.concat([...pieces, tail]);
      pieces = [];
      start = end + 1;
      if (line.length > 0) yield line.toString("utf8");
    }
    if (start < bytes.length) pieces.push(bytes.subarray(start));
  }
}
