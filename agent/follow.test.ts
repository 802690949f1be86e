// How the follower handles failures: responses, clock and randomness are scripted, because the order of faults matters.
// For a real API server see test/integration/agent.test.ts.
import { describe, expect, it } from "vitest";
import type { WatchUpdate } from "./api/group-object.ts";
import { RequestError } from "./api/request-error.ts";
import type { GroupView } from "./decide.ts";
import { type Effects, Follower } from "./follow.ts";

type Answer<T> = T | Error;

/** Responses of the API server, in order. When they run out, requests stay pending, as on a quiet watch. */
interface Script {
  readonly reads: Answer<GroupView>[];
  readonly publishes?: Answer<"done">[];
  readonly lifts?: Answer<"done">[];
  readonly watches?: Answer<Answer<WatchUpdate | "silence">[]>[];
  /** How long every watch lasts. */
  readonly watchMs?: number;
  /** Whether reprise turns out to be removed, each time the agent asks. Absent in JobSet's own protocol. */
  readonly removed?: boolean[];
}

class Transcript implements Effects {
  readonly done: string[] = [];
  readonly logged: string[] = [];
  readonly sleeps: number[] = [];
  /** Resolves when the script has run out. */
  readonly quiet: Promise<void>;
  readonly removal?: Required<Effects>["removal"];
  readonly #script: Script;
  #hasEnded = false;
  #now = 0;
  #end: () => void = () => {};

  constructor(script: Script) {
    this.#script = script;
    const { removed } = script;
    if (removed !== undefined) {
      const isRemoved = async () => this.done.push("removed?") > 0 && removed.shift() === true;
      this.removal = { isRemoved, learn: async (state) => void this.done.push(`type ${state}`) };
    }
    this.quiet = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  async read(): Promise<GroupView> {
    this.done.push("read");
    return await this.#next(this.#script.reads);
  }

  async publish(epoch: number): Promise<void> {
    this.done.push(`publish ${epoch}`);
    await this.#next(this.#script.publishes ?? []);
  }

  async *watch(resourceVersion: string | undefined): AsyncGenerator<WatchUpdate, void, undefined> {
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

async function follow(script: Script, savedEpoch?: number): Promise<Transcript & { readonly follower: Follower }> {
  const transcript = new Transcript(script);
  const note = (message: string, fields: object = {}) => {
    transcript.logged.push("reason" in fields ? `${message}: ${fields.reason}` : message);
  };
  const identity = { jobSetUid: "uid", replicatedJob: "workers" };
  const follower = new Follower(identity, transcript, { info: note, warn: note }, savedEpoch);
  void follower.groupGone().then(() => transcript.logged.push("the group is gone"));
  follower.run().catch(() => {}); // Never settles.
  await transcript.quiet;
  return Object.assign(transcript, { follower });
}

const at = (deprecatedEpoch: number, syncedEpoch: number, consistent = false): GroupView => {
  return { kind: "group", deprecatedEpoch, syncedEpoch, heldStages: [], consistent };
};
const opened: WatchUpdate = {};
const refused = () => new RequestError("ECONNREFUSED");

describe("the follower", () => {
  it("backs off to a minute without access, but only once its worker runs", async () => {
    const forbidden = () => new RequestError("403 forbidden", { status: 403 });
    const many = (count: number) => Array.from({ length: count }, forbidden);
    const waiting = await follow({ reads: many(20) });
    expect(waiting.sleeps.at(-1)).toBe(5_000);
    const running = await follow({
      reads: [at(0, 0, true), ...many(20)],
      publishes: ["done"],
      watches: [[opened, { view: at(0, 1), resourceVersion: "8" }]],
    });
    expect(running.done).toContain("lift");
    expect(running.done).not.toContain("restart");
    expect(running.sleeps.at(-1)).toBe(60_000);
    const unreachable = await follow({
      reads: [at(0, 0, true), ...Array.from({ length: 20 }, refused)],
      publishes: ["done"],
      watches: [[opened, { view: at(0, 1), resourceVersion: "8" }]],
    });
    expect(unreachable.sleeps.at(-1)).toBe(5_000);
  });

  it("reads, publishes, watches and lifts, in this order", async () => {
    const { done } = await follow({
      reads: [at(0, 0, true)],
      publishes: ["done"],
      watches: [[opened, { view: at(0, 0), resourceVersion: "7" }, { view: at(0, 1), resourceVersion: "8" }], []],
    });
    expect(done.slice(0, 4)).toEqual(["read", "publish 1", "watch from now", "lift"]);
  });

  it("reads again, with quorum, when a watch shows the group for the first time", async () => {
    const { done } = await follow({
      reads: [{ kind: "absent" }, at(2, 3, true)],
      publishes: ["done"],
      watches: [[opened, { view: at(2, 3), resourceVersion: "7" }]],
    });
    expect(done).toEqual(["read", "watch from now", "read", "publish 4", "watch from now"]);
  });

  it("resumes from the last resourceVersion, bookmarks included, when the server ends a watch", async () => {
    const { done, sleeps } = await follow({
      reads: [at(0, 0, true)],
      publishes: ["done"],
      watches: [[opened, { view: at(0, 0), resourceVersion: "7" }, { resourceVersion: "9" }], [opened]],
      watchMs: 240_000,
    });
    expect(done).toEqual(["read", "publish 1", "watch from now", "watch from 9", "watch from 9"]);
    expect(sleeps).toEqual([]);
  });

  it("reads again when a watch is cut off: it may have missed a change", async () => {
    const { done } = await follow({
      reads: [at(0, 0, true), at(0, 1, true)],
      publishes: ["done"],
      watches: [[opened, { resourceVersion: "9" }, new RequestError("ECONNRESET")]],
    });
    expect(done).toEqual(["read", "publish 1", "watch from now", "read", "lift", "watch from now"]);
  });

  it("reads at once when its resourceVersion has expired, and backs off when that repeats", async () => {
    const gone = () => new RequestError("410 gone", { status: 410 });
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

  it("publishes the same epoch again if the API server did not confirm it", async () => {
    const { done } = await follow({
      reads: [at(0, 0, true), at(0, 0, true)],
      publishes: [new RequestError("no response for 10 s"), "done"],
    });
    expect(done).toEqual(["read", "publish 1", "read", "publish 1", "watch from now"]);
  });

  it("restarts if its epoch was deprecated while it could not publish it", async () => {
    const { done } = await follow({ reads: [at(0, 0, true), at(1, 1, true)], publishes: [refused()] });
    expect(done).toEqual(["read", "publish 1", "read", "restart"]);
  });

  it("resumes the saved epoch if the group was synced to it meanwhile", async () => {
    const script = () => ({ reads: [at(0, 1, true)], publishes: ["done" as const] });
    expect((await follow(script(), 1)).done).toEqual(["read", "publish 1", "lift", "watch from now"]);
    expect((await follow(script())).done).toEqual(["read", "publish 2", "watch from now"]);
  });

  it("reads again before it retries to lift the barrier, and restarts if its epoch has ended", async () => {
    const cannot = () => new Error("EPERM");
    const twice = await follow({
      reads: [at(0, 0, true), at(0, 1, true), at(0, 1, true)],
      publishes: ["done"],
      lifts: [cannot(), cannot(), "done"],
      watches: [[opened, { view: at(0, 1), resourceVersion: "8" }]],
    });
    const tries = ["lift", "read", "lift", "read", "lift"];
    expect(twice.done).toEqual(["read", "publish 1", "watch from now", ...tries, "watch from now"]);
    expect(twice.logged).toContain("cannot lift the barrier, retrying: EPERM");
    const late = await follow({ reads: [at(0, 1, true), at(1, 1, true)], publishes: ["done"], lifts: [cannot()] }, 1);
    expect(late.done).toEqual(["read", "publish 1", "lift", "read", "restart"]);
  });

  it("reports that the group's object was deleted, and not one that never existed or was foreign", async () => {
    const absent: GroupView = { kind: "absent" };
    const foreign: GroupView = { kind: "foreign" };
    const deleted = await follow({
      reads: [at(0, 0, true)],
      publishes: ["done"],
      watches: [[opened, { view: absent, resourceVersion: "8" }, "silence"]],
    });
    expect(deleted.logged).toContain("the group is gone");
    expect(deleted.follower.hasLostGroup).toBe(true);
    const back = await follow({
      reads: [at(0, 0, true)],
      publishes: ["done"],
      watches: [[opened, { view: absent, resourceVersion: "8" }, { view: at(0, 0), resourceVersion: "9" }, "silence"]],
    });
    expect(back.follower.hasLostGroup).toBe(false);
    const early = await follow({
      reads: [absent],
      watches: [[opened, { view: foreign, resourceVersion: "8" }, { view: absent, resourceVersion: "9" }, "silence"]],
    });
    expect(early.logged).not.toContain("the group is gone");
    expect(early.follower.hasLostGroup).toBe(false);
  });

  it("backs off up to five seconds, and never gives up", async () => {
    const { sleeps } = await follow({ reads: Array.from({ length: 10 }, refused) });
    expect(sleeps).toEqual([50, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]);
  });

  it("waits for Retry-After plus a random part of it", async () => {
    const { sleeps } = await follow({
      reads: [new RequestError("429 slow down", { status: 429, retryAfterMs: 2_000 })],
    });
    expect(sleeps).toEqual([3_000]);
  });

  it("logs each error once, and once that it is over", async () => {
    const { logged } = await follow({
      reads: [refused(), refused(), refused(), new RequestError("401 Unauthorized"), { kind: "absent" }],
      watches: [[opened, "silence"]],
    });
    expect(logged).toEqual([
      "API server error, retrying: ECONNREFUSED",
      "API server error, retrying: 401 Unauthorized",
      "waiting: the group's object does not exist",
      "API server is reachable again",
    ]);
  });

  it("logs once that it may not publish, however often it retries", async () => {
    const forbidden = () => new RequestError("403 forbidden", { status: 403 });
    const { logged } = await follow({
      reads: Array.from({ length: 5 }, () => at(0, 0, true)),
      publishes: Array.from({ length: 5 }, forbidden),
    });
    expect(logged).toEqual(["API server error, retrying: 403 forbidden"]);
  });

  it("backs off from a server that cuts off every watch", async () => {
    const { sleeps } = await follow({
      reads: Array.from({ length: 3 }, () => at(0, 0, true)),
      publishes: ["done"],
      watches: [[opened], [opened], [opened]],
    });
    expect(sleeps).toEqual([50, 100, 200]);
  });

  it("starts its workers alone if it is denied access because reprise was removed", async () => {
    const denied = (status: number) => new RequestError(`${status}`, { status });
    const { done, logged, sleeps } = await follow({
      reads: [denied(403), { kind: "absent" }, ...Array.from({ length: 12 }, () => denied(403))],
      watches: [denied(404)],
      removed: [false, true],
    });
    expect(done.slice(0, 6)).toEqual(["read", "removed?", "read", "watch from now", "removed?", "lift"]);
    expect(new Set(done.slice(6))).toEqual(new Set(["read"]));
    expect(logged).toContain("reprise was removed, starting the workers without their group");
    expect(sleeps.at(-1)).toBe(60_000);
  });

  it("asks whether reprise was removed only if it is denied access, and only at the barrier", async () => {
    const unreachable = await follow({ reads: [refused(), { kind: "absent" }], watches: [[opened]], removed: [] });
    expect(unreachable.done).not.toContain("removed?");
    expect(unreachable.done.slice(0, 5)).toEqual(["read", "type unknown", "read", "watch from now", "type served"]);
    const running = await follow(
      {
        reads: [at(0, 1, true), new RequestError("403", { status: 403 })],
        publishes: ["done"],
        watches: [new RequestError("404", { status: 404 })],
        removed: [],
      },
      1,
    );
    expect(running.done).toEqual(["read", "publish 1", "lift", "watch from now", "read", "read"]);
  });

  it("tries again if it cannot start the workers after reprise was removed", async () => {
    const denied = () => new RequestError("403", { status: 403 });
    const { done, logged } = await follow({
      reads: [denied(), denied()],
      lifts: [new Error("EPERM"), "done"],
      removed: [true, true],
    });
    expect(done).toEqual(["read", "removed?", "lift", "read", "removed?", "lift", "read"]);
    expect(logged[0]).toBe("cannot lift the barrier, retrying: EPERM");
  });

  it("survives a response that is no Kubernetes object", async () => {
    const { done, logged } = await follow({ reads: [new SyntaxError("Unexpected token <"), { kind: "absent" }] });
    expect(logged[0]).toBe("API server error, retrying: Unexpected token <");
    expect(done).toEqual(["read", "read", "watch from now"]);
  });
});
