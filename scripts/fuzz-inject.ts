// Injects N random JobSets and checks what must always hold: node scripts/fuzz-inject.ts [N] [first seed]
// A failure names its seed; the same seed makes the same JobSet again.
import { parseArgs } from "node:util";
import { checkInvariants, checkPatch } from "../test/builders/invariants.ts";
import { RandomJobSet } from "../test/builders/random-jobset.ts";

/** Applying the patch costs more than all other checks, so it is done for a sample. */
const PATCH_EVERY = 20;

const { positionals } = parseArgs({ allowPositionals: true });
const [count = 1_000_000, first = 0] = positionals.map(Number);
const kinds = new Map<string, number>();
const started = performance.now();
for (let seed = first; seed < first + count; seed++) {
  try {
    const random = new RandomJobSet(seed);
    const object = random.build();
    const outcome = checkInvariants(object, random.storable);
    if (seed % PATCH_EVERY === 0) checkPatch(object, outcome);
    const kind = outcome.kind === "skipped" ? `skipped: ${outcome.reason}` : outcome.kind;
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  } catch (error) {
    console.error(`seed ${seed}: ${JSON.stringify(new RandomJobSet(seed).build())}`);
    throw error;
  }
}
const seconds = (performance.now() - started) / 1_000;
console.log(`${count} JobSets in ${seconds.toFixed(1)} s, every invariant held`);
for (const [kind, times] of [...kinds].sort((a, b) => b[1] - a[1]))
  console.log(`${String(times).padStart(9)}  ${kind}`);
