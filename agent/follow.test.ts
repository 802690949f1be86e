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
  readonly watches: Answer<Answer<WatchUpdate | "silence">[]>[];
  readonly publishes?: Answer<"done">[];
  /** How long every watch lasts. */
  readonly watchMs?: number;
  /** Whether reprise turns out to be removed, each time the agent asks. Absent in JobSet's own protocol. */
  readonly removed?: boolean[];
  readonly groupSize?: number;
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

  async publish(epoch: number): Promise<void> {
    this.done.push(`publish ${epoch}`);
    await this.#next(this.#script.publishes ?? []);
  }

  async *watch(resourceVersion: string | undefined): AsyncGenerator<WatchUpdate, void, undefined> {
    this.done.push(`watch from ${resourceVersion ?? "now"}`);
    const news = await this.#next(this.#script.watches);
    for (const item of news) yield await this.#next(item === "silence" ? [] : [item]);
    this.#now += this.#script.watchMs ?? 0;
  }

  lift(): void {
    this.done.push("lift");
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

async function follow(script: Script): Promise<Transcript> {
  const transcript = new Transcript(script);
  const note = (message: string, fields: object = {}) => {
    transcript.logged.push("reason" in fields ? `${message}: ${fields.reason}` : message);
  };
  const identity = { jobSetUid: "uid", replicatedJob: "workers", groupSize: script.groupSize ?? 1 };
  new Follower(identity, transcript, { info: note, warn: note }).run().catch(() => {}); // Never settles.
  await transcript.quiet;
  // What the last response leads to.
  await new Promise(setImmediate);
  return transcript;
}

const at = (deprecatedEpoch: number, syncedEpoch: number): GroupView => {
  return { kind: "group", deprecatedEpoch, syncedEpoch, heldStages: [] };
};
const opened: WatchUpdate = {};
const shows = (view: GroupView, resourceVersion = "7"): WatchUpdate => ({ view, resourceVersion });
const absent: GroupView = { kind: "absent" };
const refused = () => new RequestError("ECONNREFUSED");
const denied = (status: number) => new RequestError(`${status} denied`, { status });
const tooMany = () => new RequestError("429 slow down", { status: 429, retryAfterMs: 2_000 });
const many = <T>(count: number, each: () => T) => Array.from({ length: count }, each);

describe("the follower", () => {
  it("watches, publishes and lifts: two requests", async () => {
    const { done } = await follow({
      watches: [[opened, shows(at(0, 0)), shows(at(0, 1), "8"), "silence"]],
      publishes: ["done"],
    });
    expect(done).toEqual(["watch from now", "publish 1", "lift"]);
  });

  it("acts on what it saw while it published", async () => {
    const { done } = await follow({
      watches: [[opened, shows(at(0, 0)), shows(at(1, 1), "8"), "silence"]],
      publishes: [tooMany(), "done"],
    });
    expect(done).toEqual(["watch from now", "publish 1", "restart"]);
  });

  it("publishes when a watch shows the group for the first time", async () => {
    const { done } = await follow({ watches: [[opened, shows(absent), shows(at(2, 3), "8"), "silence"]] });
    expect(done).toEqual(["watch from now", "publish 4"]);
  });

  it("continues from the last resourceVersion, bookmarks included, when the server ends a watch", async () => {
    const { done, sleeps } = await follow({
      watches: [[opened, shows(at(0, 0)), { resourceVersion: "9" }], [opened]],
      publishes: ["done"],
      watchMs: 240_000,
    });
    expect(done).toEqual(["watch from now", "publish 1", "watch from 9", "watch from 9"]);
    expect(sleeps).toEqual([]);
  });

  it("starts over, consistently, when a watch is cut off or refused", async () => {
    const { done } = await follow({
      watches: [
        [opened, shows(at(0, 0)), { resourceVersion: "9" }, new RequestError("ECONNRESET")],
        tooMany(),
        [opened, shows(at(0, 1), "10"), "silence"],
      ],
      publishes: ["done"],
    });
    expect(done).toEqual(["watch from now", "publish 1", "watch from now", "watch from now", "lift"]);
  });

  it("starts over at once when its resourceVersion has expired, and backs off when that repeats", async () => {
    const gone = () => new RequestError("410 gone", { status: 410 });
    const { done, sleeps } = await follow({
      watches: [
        [opened, gone()],
        [opened, gone()],
        [opened, gone()],
      ],
    });
    expect(done).toEqual(many(4, () => "watch from now"));
    expect(sleeps).toEqual([50, 100]);
  });

  it("retries a refused publication alone, and watches on meanwhile", async () => {
    const { done, sleeps } = await follow({
      watches: [[opened, shows(at(0, 0)), "silence"]],
      publishes: [new RequestError("no response for 65 s"), tooMany(), "done"],
    });
    expect(done).toEqual(["watch from now", "publish 1", "publish 1", "publish 1"]);
    expect(sleeps).toEqual([50, 2_100]);
  });

  it("restarts if its epoch was deprecated while it could not publish it", async () => {
    const { done } = await follow({
      watches: [
        [opened, shows(at(0, 0)), new RequestError("ECONNRESET")],
        [opened, shows(at(1, 1)), "silence"],
      ],
      publishes: many(50, refused),
    });
    expect(done.filter((step) => step.startsWith("watch"))).toHaveLength(2);
    expect(done.at(-1)).toBe("restart");
  });

  it("backs off up to five seconds, and never gives up", async () => {
    const { sleeps } = await follow({ watches: many(10, refused) });
    expect(sleeps).toEqual([50, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]);
  });

  it("spreads its retries over a time that grows with the group, after the server's Retry-After", async () => {
    const { sleeps } = await follow({ watches: many(6, tooMany), groupSize: 4_000 });
    expect(sleeps).toEqual([6_000, 10_000, 18_000, 34_000, 34_000, 34_000]);
  });

  it("backs off to a minute without access, but only once its worker runs", async () => {
    const waiting = await follow({ watches: many(20, () => denied(403)) });
    expect(waiting.sleeps.at(-1)).toBe(5_000);
    const lifted = [opened, shows(at(0, 0)), shows(at(0, 1), "8")];
    const running = await follow({ watches: [lifted, ...many(20, () => denied(403))], publishes: ["done"] });
    expect(running.done).toContain("lift");
    expect(running.done).not.toContain("restart");
    expect(running.sleeps.at(-1)).toBe(60_000);
    const unreachable = await follow({ watches: [lifted, ...many(20, refused)], publishes: ["done"] });
    expect(unreachable.sleeps.at(-1)).toBe(5_000);
  });

  it("logs each error once, and once that it is over", async () => {
    const { logged } = await follow({
      watches: [
        refused(),
        refused(),
        refused(),
        new RequestError("401 Unauthorized"),
        [opened, shows(absent), "silence"],
      ],
    });
    expect(logged).toEqual([
      "API server error, retrying: ECONNREFUSED",
      "API server error, retrying: 401 Unauthorized",
      "API server is reachable again",
      "waiting: the group's object does not exist",
    ]);
  });

  it("logs once that it may not publish, however often it retries and whatever it sees", async () => {
    const { logged } = await follow({
      watches: [[opened, shows(at(0, 0)), shows(at(0, 0), "8"), "silence"]],
      publishes: many(5, () => denied(403)),
    });
    expect(logged).toEqual(["cannot publish the epoch, retrying: 403 denied"]);
  });

  it("backs off from a server that cuts off every watch", async () => {
    const { sleeps } = await follow({ watches: [[opened], [opened], [opened]] });
    expect(sleeps).toEqual([50, 100, 200]);
  });

  it("starts its workers alone if it is denied access because reprise was removed", async () => {
    const { done, logged, sleeps } = await follow({
      watches: [denied(403), [opened, shows(absent)], denied(404), ...many(12, () => denied(403))],
      removed: [false, true],
    });
    expect(done.slice(0, 7)).toEqual([
      ...["watch from now", "removed?", "watch from now", "type served", "type served", "type unknown"],
      "watch from now",
    ]);
    expect(done.slice(7, 9)).toEqual(["removed?", "lift"]);
    expect(new Set(done.slice(9))).toEqual(new Set(["watch from now"]));
    expect(logged).toContain("reprise was removed, starting the workers without their group");
    expect(sleeps.at(-1)).toBe(60_000);
  });

  it("does so too if only the publication is denied", async () => {
    const { done } = await follow({
      watches: [[opened, shows(at(0, 0)), "silence"]],
      publishes: [denied(403)],
      removed: [true],
    });
    expect(done.slice(-3)).toEqual(["publish 1", "removed?", "lift"]);
  });

  it("asks whether reprise was removed only if it is denied access, and only at the barrier", async () => {
    const unreachable = await follow({ watches: [refused(), [opened, "silence"]], removed: [] });
    expect(unreachable.done).toEqual(["watch from now", "type unknown", "watch from now", "type served"]);
    const running = await follow({
      watches: [[opened, shows(at(0, 0)), shows(at(0, 1), "8")], denied(404), denied(403)],
      publishes: ["done"],
      removed: [],
    });
    expect(running.done).toContain("lift");
    expect(running.done).not.toContain("removed?");
  });

  it("survives a response that is no Kubernetes object", async () => {
    const { done, logged } = await follow({ watches: [new SyntaxError("Unexpected token <"), [opened, "silence"]] });
    expect(logged[0]).toBe("API server error, retrying: Unexpected token <");
    expect(done).toEqual(["watch from now", "watch from now"]);
  });
});
