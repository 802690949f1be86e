// Everything about the selected group: facts, what it waits for, its last recovery, its Pods and its history.
import { type Events, type GroupDetail, type GroupView, POD_STATES, type RestartView } from "../view/wire.ts";
import { showAvailability } from "./availability.ts";
import { element, find, setText } from "./dom.ts";
import { duration, phaseText, recoveryText, restartsText, STATE_WORDS } from "./format.ts";
import { drawSprite, Grid } from "./grid.ts";
import { type PodCell, Pods } from "./pods.ts";
import { bar, showRecovery } from "./recovery.ts";
import { timeline } from "./timeline-bars.ts";

/** Names of Pods that a wait lists. The grid shows all of them. */
const NAMED_PODS = 8;

/** While a recovery goes on, its time is shown again this often. */
const TICK_MS = 200;

export class GroupPanel {
  readonly #section: HTMLElement = find("group", HTMLElement);
  readonly #title: HTMLElement = find("group-title", HTMLHeadingElement);
  readonly #pod: HTMLElement = find("pod", HTMLParagraphElement);
  readonly #now: () => number;
  readonly #pods = new Pods();
  readonly #grid: Grid;
  readonly #counts = new Map<string, { readonly button: HTMLButtonElement; readonly count: HTMLElement }>();
  #key: string | undefined;
  #view: GroupView | undefined;
  #detail: GroupDetail | null = null;
  #tick: number | undefined;
  #frame: number | undefined;

  /** `now` is the server's time in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
    this.#grid = new Grid(find("pods", HTMLDivElement), find("grid", HTMLCanvasElement), this.#pods, (cell) =>
      this.#showPod(cell),
    );
    this.#buildLegend();
    for (const scheme of ["state", "epoch"] as const) {
      document.querySelector(`#color-by input[value=${scheme}]`)?.addEventListener("change", () => {
        this.#grid.colorBy(scheme);
      });
    }
  }

  /** Shows nothing until the stream tells about this group. */
  open(key: string | undefined): void {
    this.#key = key;
    this.#view = undefined;
    this.#detail = null;
    this.#grid.select(undefined);
    this.pods({ now: 0, reset: true, added: [], changed: [], removed: [] });
    this.#section.hidden = key === undefined;
    this.#show();
  }

  view(view: GroupView | undefined): void {
    if (view === this.#view) return;
    this.#view = view;
    this.#show();
  }

  detail(detail: GroupDetail | null): void {
    this.#detail = detail;
    this.#show();
  }

  pods(event: Events["pods"]): void {
    const redraw = this.#pods.apply(event);
    if (redraw === "all") this.#grid.redraw();
    else this.#grid.changed(redraw);
    // Several events may arrive before a frame, and what follows looks at every Pod.
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined;
      this.#showCounts();
      this.#showPod(this.#grid.selected);
      this.#showMoving();
    });
  }

  #showCounts(): void {
    const counts = this.#pods.countByState();
    for (const state of POD_STATES) {
      const shown = this.#counts.get(state);
      if (shown === undefined) continue;
      const count = counts.get(state) ?? 0;
      setText(shown.count, String(count));
      shown.button.disabled = count === 0;
    }
  }

  /** Shows again what changes with time. */
  refresh(): void {
    if (this.#view !== undefined) showAvailability(this.#view.account, this.#now());
  }

  #show(): void {
    const view = this.#view;
    setText(this.#title, view === undefined ? `${this.#key ?? ""} (not there)` : view.key);
    if (view === undefined) find("facts", HTMLDListElement).replaceChildren();
    else this.#showFacts(view);
    showAvailability(view?.account, this.#now());
    find("history", HTMLTableElement).tBodies[0]?.replaceChildren(
      ...(this.#detail?.history ?? []).map((restart, age) => this.#historyRow(restart, age === 0)),
    );
    this.#showMoving();
  }

  #showFacts(view: GroupView): void {
    const { recovery, budget } = view;
    const { syncedEpoch, deprecatedEpoch } = this.#detail ?? {};
    const since = Date.parse(recovery.runningSince ?? "");
    const longest = recovery.longestSeconds;
    const facts: readonly (readonly [string, string])[] = [
      ["Phase", phaseText(view)],
      ["Ready", view.ready],
      ["Epoch", epochText(syncedEpoch, deprecatedEpoch)],
      ["Restarts", `${restartsText(view)}${budget === undefined ? "" : ` (${budget.from})`}`],
      ["Recovery", recoveryText(recovery)],
      ...(longest === undefined ? [] : [["Longest recovery", duration(longest)] as const]),
      ...(Number.isNaN(since) ? [] : [["Running since", new Date(since).toLocaleString()] as const]),
    ];
    find("facts", HTMLDListElement).replaceChildren(
      ...facts.map(([name, text]) => element("div", {}, element("dt", {}, name), element("dd", {}, text))),
    );
  }

  /** What changes with time and with every Pod. */
  #showMoving(): void {
    const now = this.#now();
    const [newest] = this.#detail?.history ?? [];
    const all = this.#pods.ordered.length;
    const arrived =
      newest === undefined ? 0 : this.#pods.ordered.filter(({ epoch }) => epoch > newest.fromEpoch).length;
    const isOpen = showRecovery(newest, now, { arrived, all });
    this.#showWaits(isOpen ? newest : undefined);
    clearTimeout(this.#tick);
    if (isOpen) this.#tick = setTimeout(() => this.#showMoving(), TICK_MS);
  }

  #showWaits(open: RestartView | undefined): void {
    const waits = (this.#view?.waitsFor ?? []).map(({ type, message, since }) => {
      const age = since === undefined ? "" : ` (since ${new Date(since).toLocaleTimeString()})`;
      return element("p", {}, element("strong", {}, `${type}: `), `${message}${age}`);
    });
    const late = open === undefined || open.toEpoch !== undefined ? [] : this.#missingAfter(open.fromEpoch);
    const lines = late.length === 0 ? waits : [...waits, element("p", {}, lateText(late))];
    const place = find("waiting", HTMLDivElement);
    place.className = lines.length === 0 ? "" : "wait";
    place.replaceChildren(...lines);
  }

  #missingAfter(epoch: number): readonly PodCell[] {
    return this.#pods.ordered.filter((cell) => cell.epoch <= epoch && cell.state !== "succeeded");
  }

  #historyRow(restart: RestartView, isNewest: boolean): HTMLElement {
    const now = this.#now();
    const times = timeline(restart, now, isNewest);
    const { fromEpoch, toEpoch, counted, steps, cause, action, rule, lastWords } = restart;
    const why = rule === undefined ? action : `${action}, by the rule ${rule}`;
    return element(
      "tr",
      {},
      element("td", { label: "Epochs" }, `${fromEpoch} → ${toEpoch ?? "?"}`),
      element("td", { label: "Seen" }, steps.failureSeen === undefined ? "–" : timeOf(steps.failureSeen)),
      element(
        "td",
        { label: "Took" },
        element("div", {}, times.open ? "…" : duration(times.seconds), bar(times, true)),
      ),
      element("td", { label: "Counted" }, counted ? "yes" : "no"),
      element(
        "td",
        { label: "Cause" },
        element(
          "div",
          {},
          cause,
          element("div", { class: "faint" }, why),
          ...(lastWords === undefined ? [] : [element("code", { class: "words" }, lastWords)]),
        ),
      ),
    );
  }

  #showPod(cell: PodCell | undefined): void {
    setText(this.#pod, cell === undefined ? "" : podText(cell));
  }

  /** A button for each state, which also leads to the next Pod in it. */
  #buildLegend(): void {
    const items = POD_STATES.map((state) => {
      const color = getComputedStyle(document.documentElement).getPropertyValue(`--${state}`);
      const count = element("strong", {}, "0");
      const button = element("button", {}, drawSprite(state, color, 16), `${STATE_WORDS[state]} `, count);
      button.type = "button";
      button.title = `Select the next Pod that is ${STATE_WORDS[state]}`;
      button.addEventListener("click", () => {
        const next = this.#pods.next(this.#grid.selected?.position ?? -1, (cell) => cell.state === state);
        if (next !== undefined) this.#grid.select(next);
      });
      this.#counts.set(state, { button, count });
      return element("li", {}, button);
    });
    find("legend", HTMLUListElement).replaceChildren(...items);
  }
}

function epochText(synced: number | undefined, deprecated: number | undefined): string {
  if (synced === undefined) return "none yet";
  return deprecated === synced ? `${synced} ended, waiting for ${synced + 1}` : String(synced);
}

function lateText(late: readonly PodCell[]): string {
  const names = late.slice(0, NAMED_PODS).map(({ name, state }) => `${name} (${STATE_WORDS[state]})`);
  const more = late.length > names.length ? ` and ${late.length - names.length} more` : "";
  return `Pods that are not at the barrier yet: ${names.join(", ")}${more}`;
}

function podText({ name, stage, job, index, node, state, epoch, restarts }: PodCell): string {
  const where = node === "" ? "on no node yet" : `on node ${node}`;
  const when = epoch < 0 ? "without an epoch" : `epoch ${epoch}`;
  const often = restarts === 1 ? "1 restart" : `${restarts} restarts`;
  return `Pod ${name} (${stage}, Job ${job}, index ${index}): ${STATE_WORDS[state]}, ${when}, ${often}, ${where}`;
}

function timeOf(time: number): string {
  return new Date(time).toLocaleString();
}
