// Asks NCCL's RAS service in the worker how many operations each rank has started. The service listens on the loopback
// address of the Pod and speaks a protocol of text lines (NVIDIA's user guide, "RAS"). One question at a time, with an
// end to its length and its time: whatever listens there, the worker and the agent are not harmed.
import { connect, type Socket } from "bun";
import { NCCL_RAS_PORT } from "../../src/api/names.ts";
import { readAnswer } from "./decide-nccl.ts";
import type { HangLimits, Sighting } from "./decide-progress.ts";

/** About 1,500 ranks, counted once for each of their communicators. The agent keeps the answer in memory. */
const MOST_BYTES = 1024 * 1024;

/** NCCL itself waits for 5 s, twice, for ranks that do not answer it. */
const ANSWER_TIMEOUT_MS = 15_000;

/** The question, in one piece: NCCL answers each line in order, and closes after the last one. */
const QUESTION = "CLIENT PROTOCOL 2\nTIMEOUT 5\nSET FORMAT json\nVERBOSE STATUS\n";

export async function askNccl(
  podIps: readonly string[],
  port: number = NCCL_RAS_PORT,
  timeoutMs = ANSWER_TIMEOUT_MS,
): Promise<Sighting> {
  const answer = await answerFrom(port, timeoutMs);
  return typeof answer === "string" ? readAnswer(jsonIn(answer), podIps) : answer;
}

/** Everything after the lines that acknowledge the question. */
function jsonIn(answer: string): string {
  const start = answer.indexOf("{");
  return start === -1 ? answer : answer.slice(start);
}

function answerFrom(port: number, timeoutMs: number): Promise<string | Sighting> {
  return new Promise((resolve) => {
    let received = "";
    let open: Socket<undefined> | undefined;
    const end = (answer: string | Sighting) => {
      clearTimeout(timer);
      resolve(answer);
      open?.terminate();
    };
    const unreadable = (reason: string) => end({ kind: "unreadable", reason });
    const timer = setTimeout(() => unreadable("no answer in time"), timeoutMs);
    connect<undefined>({
      hostname: "127.0.0.1",
      port,
      socket: {
        open: (socket) => {
          open = socket;
          socket.write(QUESTION);
        },
        data: (_socket, piece) => {
          received += Buffer.from(piece).toString("latin1");
          if (received.length > MOST_BYTES) unreadable("the answer is too long");
        },
        close: () => end(received),
        error: () => unreadable("the connection failed"),
      },
      // Nothing listens there: the worker has not started NCCL yet, or has none.
    }).catch(() => end({ kind: "absent" }));
  });
}

/** Every answer is about the whole job, so all agents together ask for its size squared. */
export function ncclPeriodFor({ hangAfter }: HangLimits): number {
  const limit = hangAfter === "learned" ? MOST_PERIOD_MS * PERIODS : hangAfter;
  return Math.max(LEAST_PERIOD_MS, Math.min(MOST_PERIOD_MS, limit / PERIODS));
}

const LEAST_PERIOD_MS = 500;
const MOST_PERIOD_MS = 30_000;
const PERIODS = 8;
