// An answer of NCCL's RAS service in JSON, as NVIDIA documents it. For tests, which have no GPU.

interface Communicator {
  readonly hash: string;
  readonly ranks: readonly { readonly rank: number; readonly host: string; readonly count: number }[];
}

export function rasAnswer(communicators: readonly Communicator[]): string {
  return `${JSON.stringify(
    {
      nccl_version: "2.28.7",
      cuda_runtime_version: 12_040,
      cuda_driver_version: 12_040,
      timestamp: "2026-01-01 00:00:00",
      communicators_count: communicators.length,
      communicators: communicators.map(({ hash, ranks }) => ({
        hash,
        size: ranks.length,
        ranks_count: ranks.length,
        missing_ranks_count: 0,
        ranks: ranks.map(({ rank, host, count }) => ({
          rank,
          host,
          pid: 100 + rank,
          cuda_dev: 0,
          nvml_dev: 0,
          status: { init_state: 0, async_error: 0, finalize_called: false, destroy_flag: false, abort_flag: false },
          collective_counts: { Broadcast: 0, Reduce: 0, AllGather: 1, ReduceScatter: 0, AllReduce: count - 1 },
        })),
        missing_ranks: [],
      })),
      ras: { collection_time_sec: 0.001, timeouts_count: 0 },
    },
    undefined,
    2,
  )}\n`;
}
