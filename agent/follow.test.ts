// How the follower meets trouble: the API server's answers, the clock and chance are scripted, because the order of
// faults matters here. What it does with a real API server is in test/integration/agent.test.ts.
import { describe, expect, it } from "vitest";
import { ApiTrouble } from "./api/api-trouble.ts";
import type { WatchNews } from "./api/group-object.ts";
import type { Sighting } from "./decide.ts";
import { type Effects, Follower } from "./follow.ts";

type Answer<T> = T | Error;

/** Answers of the API server in order; where they run out nothing ever comes, as on a quiet watch. */
interface Script {
  readonly reads: Answer<Sighting>[];
  readonly publishes?: Answer<"done">[];
  readonly lifts?: Answer<"done">[];
  readonly watches?: Answer<Answer<WatchNews | "silence">[]>[];
  /** How long every watch lasts. */
  readonly watchMs?: number;
}

class Transcript implements Effects {
  readonly done: string[] = [];
  readonly said: string[] = [];
  readonly sleeps: number[] = [];
  /** Nothing more will happen. */
  readonly quiet: Promise<void>;
  readonly #script: Script;
  #hasEnded = false;
  #now = 0;
  #end: () => void = () => {};

  constructor(script: Script) {
    this.#script = script;
    this.quiet = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  async read(): Promise<Sighting> {
    this.done.push("read");
    return await this.#next(this.#script.reads);
  }

  async publish(epoch: number): Promise<void> {
    this.done.push(`publish ${epoch}`);
    await this.#next(this.#script.publishes ?? []);
  }

  async *watch(resourceVersion: string | undefined): AsyncGenerator<WatchNews, void, undefined> {
    this.done.push(`watch from ${resourceVersion ?? "now"}`);
    const news = await this.#next(this.#script.watches ?? []);
    for (const item of news) yield await this.#next(item === "silence" ? [] : [item]);
    this.#now += this.#script.watchMs ?? 0;
  }

  async lift(): Promise<void> {
    this.done.push("lift");
    const refusal = this.#script.lifts?.shift();
    if (refusal instanceof Error) throw refusal;
  }

  restart(): never {
    this.done.push("restart");
    this.#end();
    this.#hasEnded = true;
    throw new Error("the process has ended");
  }

  async sleep(ms: number): Promise<void> {
    if (this.#hasEnded) await new Promise(() => {});
    this.sleeps.push(ms);
  }

  now(): number {
    return this.#now;
  }

  random(): number {
    return 1;
  }

  async #next<T>(answers: Answer<T>[]): Promise<T> {
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    if (answer !== undefined) return answer;
    this.#end();
    return await new Promise(() => {});
  }
}

async function follow(script: Script, kept?: number): Promise<Transcript & { readonly follower: Follower }> {
  const transcript = new Transcript(script);
  const note = (message: string, fields: object = {}) => {
    transcript.said.push("reason" in fields ? `${message}: ${fields.reason}` : message);
  };
  const identity = { jobSetUid: "uid", replicatedJob: "workers" };
  const follower = new Follower(identity, transcript, { info: note, warn: note }, kept);
  void follower.groupGone().then(() => transcript.said.push("the group is gone"));
  follower.run().catch(() => {}); // Never settles.
  await transcript.quiet;
  return Object.assign(transcript, { follower });
}

const at = (deprecatedEpoch: number, syncedEpoch: number, consistent = false): Sighting => {
  return { kind: "group", deprecatedEpoch, syncedEpoch, heldStages: [], consistent };
};
const opened: WatchNews = {};
const refused = () => new ApiTrouble("ECONNREFUSED");

describe("the follower", () => {
  it("asks seldom when nobody lets it in any more, but only once its worker runs", async () => {
    const forbidden = () => new ApiTrouble("403 forbidden", { status: 403 });
    const many = (count: number) => Array.from({ length: count }, forbidden);
    const waiting = await follow({ reads: many(20) });
    expect(waiting.sleeps.at(-1)).toBe(5_000);
    const running = await follow({
      reads: [at(0, 0, true), ...many(20)],
      publishes: ["done"],
      watches: [[opened, { seen: at(0, 1), resourceVersion: "8" }]],
    });
    expect(running.done).toContain("lift");
    expect(running.done).not.toContain("restart");
    expect(running.sleeps.at(-1)).toBe(60_000);
    const unreachable = await follow({
      reads: [at(0, 0, true), ...Array.from({ length: 20 }, refused)],
      publishes: ["done"],
      watches: [[opened, { seen: at(0, 1), resourceVersion: "8" }]],
    });
    expect(unreachable.sleeps.at(-1)).toBe(5_000);
  });

  it("reads, publishes, watches and lifts, in this order", async () => {
    const { done } = await follow({
      reads: [at(0, 0, true)],
      publishes: ["done"],
      watches: [[opened, { seen: at(0, 0), resourceVersion: "7" }, { seen: at(0, 1), resourceVersion: "8" }], []],
    });
    expect(done.slice(0, 4)).toEqual(["read", "publish 1", "watch from now", "lift"]);
  });

  it("reads again, with quorum, when a watch shows the group for the first time", async () => {
    const { done } = await follow({
      reads: [{ kind: "absent" }, at(2, 3, true)],
      publishes: ["done"],
      watches: [[opened, { seen: at(2, 3), resourceVersion: "7" }]],
    });
    expect(done).toEqual(["read", "watch from now", "read", "publish 4", "watch from now"]);
  });

  it("goes on from the last version, bookmarks included, when the server ends a watch in its time", async () => {
    const { done, sleeps } = await follow({
      reads: [at(0, 0, true)],
      publishes: ["done"],
      watches: [[opened, { seen: at(0, 0), resourceVersion: "7" }, { resourceVersion: "9" }], [opened]],
      watchMs: 240_000,
    });
    expect(done).toEqual(["read", "publish 1", "watch from now", "watch from 9", "watch from 9"]);
    expect(sleeps).toEqual([]);
  });

  it("reads again when a watch breaks: nobody knows what it missed", async () => {
    const { done } = await follow({
      reads: [at(0, 0, true), at(0, 1, true)],
      publishes: ["done"],
      watches: [[opened, { resourceVersion: "9" }, new ApiTrouble("ECONNRESET")]],
    });
    expect(done).toEqual(["read", "publish 1", "watch from now", "read", "lift", "watch from now"]);
  });

  it("looks at once when the history is gone, and waits when it is gone again", async () => {
    const gone = () => new ApiTrouble("410 gone", { status: 410 });
    const { done, sleeps } = await follow({
      reads: [at(0, 0, true), at(0, 0, true), at(0, 0, true)],
      publishes: ["done"],
      watches: [
        [opened, gone()],
        [opened, gone()],
      ],
    });
    expect(done.filter((step) => step === "read")).toHaveLength(3);
    expect(sleeps).toEqual([100]);
  });

  it("publishes the same epoch again when the API server did not confirm it", async () => {
    const { done } = await follow({
      reads: [at(0, 0, true), at(0, 0, true)],
      publishes: [new ApiTrouble("no sign of life for 10 s"), "done"],
    });
    expect(done).toEqual(["read", "publish 1", "read", "publish 1", "watch from now"]);
  });

  it("restarts when its epoch was deprecated while it could not publish it", async () => {
    const { done } = await follow({ reads: [at(0, 0, true), at(1, 1, true)], publishes: [refused()] });
    expect(done).toEqual(["read", "publish 1", "read", "restart"]);
  });

  it("comes back to the epoch that was kept, when it was synced without it", async () => {
    const script = () => ({ reads: [at(0, 1, true)], publishes: ["done" as const] });
    expect((await follow(script(), 1)).done).toEqual(["read", "publish 1", "lift", "watch from now"]);
    expect((await follow(script())).done).toEqual(["read", "publish 2", "watch from now"]);
  });

  it("looks again before it tries once more to lift the barrier, and restarts if its epoch has ended", async () => {
    const cannot = () => new Error("EPERM");
    const twice = await follow({
      reads: [at(0, 0, true), at(0, 1, true), at(0, 1, true)],
      publishes: ["done"],
      lifts: [cannot(), cannot(), "done"],
      watches: [[opened, { seen: at(0, 1), resourceVersion: "8" }]],
    });
    const tries = ["lift", "read", "lift", "read", "lift"];
    expect(twice.done).toEqual(["read", "publish 1", "watch from now", ...tries, "watch from now"]);
    expect(twice.said).toContain("cannot lift the barrier, retrying: EPERM");
    const late = await follow({ reads: [at(0, 1, true), at(1, 1, true)], publishes: ["done"], lifts: [cannot()] }, 1);
    expect(late.done).toEqual(["read", "publish 1", "lift", "read", "restart"]);
  });

  it("tells when its group's object is gone, and not when it has not come yet or was another's", async () => {
    const absent: Sighting = { kind: "absent" };
    const foreign: Sighting = { kind: "foreign" };
    const deleted = await follow({
      reads: [at(0, 0, true)],
      publishes: ["done"],
      watches: [[opened, { seen: absent, resourceVersion: "8" }, "silence"]],
    });
    expect(deleted.said).toContain("the group is gone");
    expect(deleted.follower.hasLostGroup).toBe(true);
    const back = await follow({
      reads: [at(0, 0, true)],
      publishes: ["done"],
      watches: [[opened, { seen: absent, resourceVersion: "8" }, { seen: at(0, 0), resourceVersion: "9" }, "silence"]],
    });
    expect(back.follower.hasLostGroup).toBe(false);
    const early = await follow({
      reads: [absent],
      watches: [[opened, { seen: foreign, resourceVersion: "8" }, { seen: absent, resourceVersion: "9" }, "silence"]],
    });
    expect(early.said).not.toContain("the group is gone");
    expect(early.follower.hasLostGroup).toBe(false);
  });

  it("waits longer from failure to failure, up to five seconds, for ever", async () => {
    const { sleeps } = await follow({ reads: Array.from({ length: 10 }, refused) });
    expect(sleeps).toEqual([50, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]);
  });

  it("waits at least as long as the API server asks, and a random part longer", async () => {
    const { sleeps } = await follow({ reads: [new ApiTrouble("429 slow down", { status: 429, retryAfterMs: 2_000 })] });
    expect(sleeps).toEqual([3_000]);
  });

  it("says once what is wrong, and once that it is over", async () => {
    const { said } = await follow({
      reads: [refused(), refused(), refused(), new ApiTrouble("401 Unauthorized"), { kind: "absent" }],
      watches: [[opened, "silence"]],
    });
    expect(said).toEqual([
      "API server trouble, retrying: ECONNREFUSED",
      "API server trouble, retrying: 401 Unauthorized",
      "waiting: the group's object does not exist",
      "API server answers again",
    ]);
  });

  it("says once that it may not publish, however often it tries", async () => {
    const forbidden = () => new ApiTrouble("403 forbidden", { status: 403 });
    const { said } = await follow({
      reads: Array.from({ length: 5 }, () => at(0, 0, true)),
      publishes: Array.from({ length: 5 }, forbidden),
    });
    expect(said).toEqual(["API server trouble, retrying: 403 forbidden"]);
  });

  it("does not hammer a server that cuts every watch at once", async () => {
    const { sleeps } = await follow({
      reads: Array.from({ length: 3 }, () => at(0, 0, true)),
      publishes: ["done"],
      watches: [[opened], [opened], [opened]],
    });
    expect(sleeps).toEqual([50, 100, 200]);
  });

  it("survives an answer that is no Kubernetes object", async () => {
    const { done, said } = await follow({ reads: [new SyntaxError("Unexpected token <"), { kind: "absent" }] });
    expect(said[0]).toBe("API server trouble, retrying: Unexpected token <");
    expect(done).toEqual(["read", "read", "watch from now"]);
  });
});
