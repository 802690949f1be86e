// The list of groups. A row is made once and its cells change, so that focus and screen readers keep their place.
import { suspectNodes } from "../../api/availability-figures.ts";
import type { Events, GroupView } from "../view/wire.ts";
import { element, find, setText } from "./dom.ts";
import { availableText, phaseText, recoveryText, restartsText, suspectText } from "./format.ts";

interface Row {
  readonly element: HTMLTableRowElement;
  readonly cells: readonly HTMLElement[];
}

const COLUMNS: readonly (readonly [label: string, text: (group: GroupView, now: number) => string])[] = [
  ["Phase", phaseText],
  ["Ready", ({ ready }) => ready],
  ["Epoch", ({ epoch }) => (epoch === undefined ? "–" : String(epoch))],
  ["Restarts", restartsText],
  ["Available", availableText],
  ["Recovery", ({ recovery }) => recoveryText(recovery)],
  ["Waits for", ({ waitsFor }) => firstSentence(waitsFor[0]?.message ?? "")],
];

export class GroupList {
  readonly #groups = new Map<string, GroupView>();
  readonly #rows = new Map<string, Row>();
  readonly #table: HTMLTableElement = find("groups", HTMLTableElement);
  readonly #none: HTMLElement = find("no-groups", HTMLParagraphElement);
  readonly #suspects: HTMLElement = find("suspects", HTMLParagraphElement);
  readonly #filter: HTMLInputElement = find("filter", HTMLInputElement);
  #selected: string | undefined;
  #missing: readonly string[] = [];
  readonly #now: () => number;

  /** `now` is the server's time in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
    this.#filter.addEventListener("input", () => this.#show());
  }

  apply({ reset, changed, removed, missing }: Events["groups"]): void {
    const present = new Set(changed.map(({ key }) => key));
    const gone = reset ? [...this.#groups.keys()].filter((key) => !present.has(key)) : removed;
    for (const key of gone) {
      this.#groups.delete(key);
      this.#rows.get(key)?.element.remove();
      this.#rows.delete(key);
    }
    for (const group of changed) {
      this.#groups.set(group.key, group);
      this.#fill(this.#rows.get(group.key) ?? this.#insert(group.key), group);
    }
    this.#missing = missing;
    this.#showSuspects();
    this.#show();
  }

  /** Shows again what changes with time. */
  refresh(): void {
    for (const [key, row] of this.#rows) {
      const group = this.#groups.get(key);
      if (group !== undefined) this.#fill(row, group);
    }
  }

  #fill({ cells }: Row, group: GroupView): void {
    const now = this.#now();
    COLUMNS.forEach(([, text], column) => {
      const cell = cells[column];
      if (cell !== undefined) setText(cell, text(group, now));
    });
  }

  /** A node may cause failures in several groups. */
  #showSuspects(): void {
    const accounts = [...this.#groups.values()].flatMap(({ account }) => account ?? []);
    setText(this.#suspects, suspectNodes(accounts).map(suspectText).join(" "));
  }

  get(key: string): GroupView | undefined {
    return this.#groups.get(key);
  }

  /** What a visitor wants to see first: a group that waits, else the first one. */
  get mostInteresting(): string | undefined {
    const groups = [...this.#groups.values()];
    return (
      (groups.find(({ phase }) => phase === "Restarting") ?? groups.find(({ waitsFor }) => waitsFor.length > 0))?.key ??
      groups[0]?.key
    );
  }

  select(key: string | undefined): void {
    this.#selected = key;
    this.#show();
  }

  #insert(key: string): Row {
    const link = element("a", {}, key);
    link.href = `#${key}`;
    const cells = COLUMNS.map(([label]) => element("td", { label }));
    const row: Row = { element: element("tr", {}, element("td", { label: "Group" }, link), ...cells), cells };
    const keys = [...this.#rows.keys(), key].sort();
    const next = keys[keys.indexOf(key) + 1];
    const before = next === undefined ? null : (this.#rows.get(next)?.element ?? null);
    this.#table.tBodies[0]?.insertBefore(row.element, before);
    this.#rows.set(key, row);
    return row;
  }

  #show(): void {
    const wanted = this.#filter.value.trim().toLowerCase();
    let shown = 0;
    for (const [key, { element: row }] of this.#rows) {
      row.hidden = !key.toLowerCase().includes(wanted);
      row.setAttribute("aria-current", String(key === this.#selected));
      if (!row.hidden) shown += 1;
    }
    this.#none.hidden = shown > 0;
    setText(this.#none, this.#emptyText());
  }

  #emptyText(): string {
    if (this.#missing.length > 0) return `Reading ${this.#missing.join(", ")} from the cluster …`;
    return this.#rows.size > 0 ? "No group matches the filter." : "No JobSet restarts in place here.";
  }
}

/** What follows says what to do, which the selected group shows. */
function firstSentence(text: string): string {
  return text.replace(/^waiting for /, "").replace(/; .*$/s, "");
}
