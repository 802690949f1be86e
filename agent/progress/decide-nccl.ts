// What an answer of NCCL's RAS service says about the ranks of this Pod: a pure function of the answer. NCCL 2.28.7 or
// newer answers in JSON, with the number of operations of every rank of every communicator of the job.
import { asCount, asList, asMap, asText } from "../../src/json/fields.ts";
import type { Sighting } from "./decide-progress.ts";

interface Rank {
  readonly rank: number;
  readonly count: number;
}

/**
 * The mark is the counts of the own ranks. The step is the count of the own rank that is furthest behind in the largest
 * communicator, which all ranks share in most jobs: there, the counts of different Pods can be compared.
 */
export function readAnswer(text: string, podIps: readonly string[]): Sighting {
  const communicators = communicatorsIn(text);
  if (communicators === undefined) return { kind: "unreadable", reason: "the answer is not that of NCCL RAS" };
  const own = communicators.map(({ size, ranks }) => ({ size, ranks: ranks.flatMap((rank) => ownRank(rank, podIps)) }));
  const counted = own.filter(({ ranks }) => ranks.length > 0);
  if (counted.length === 0) {
    // Before its first communicator a worker has no ranks.
    return communicators.length === 0
      ? { kind: "absent" }
      : { kind: "unreadable", reason: "it names no rank of this Pod" };
  }
  const mark = JSON.stringify(counted.map(({ ranks }) => ranks.map(({ count }) => count)));
  const largest = counted.reduce((most, each) => (each.size > most.size ? each : most));
  const behind = largest.ranks.reduce((least, each) => (each.count < least.count ? each : least));
  return { kind: "seen", mark, step: behind.count, rank: behind.rank };
}

interface Communicator {
  readonly size: number;
  readonly ranks: readonly Readonly<Record<string, unknown>>[];
}

function communicatorsIn(text: string): readonly Communicator[] | undefined {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { communicators } = asMap(answer);
  if (!Array.isArray(communicators)) return undefined;
  return communicators.map((each: unknown) => {
    const { size, ranks } = asMap(each);
    return { size: asCount(size) ?? 0, ranks: asList(ranks).map(asMap) };
  });
}

function ownRank(entry: Readonly<Record<string, unknown>>, podIps: readonly string[]): readonly Rank[] {
  const rank = asCount(entry["rank"]);
  if (rank === undefined || !podIps.includes(asText(entry["host"]) ?? "")) return [];
  const counts = Object.values(asMap(entry["collective_counts"])).map((count) => asCount(count) ?? 0);
  return [{ rank, count: counts.reduce((sum, count) => sum + count, 0) }];
}
