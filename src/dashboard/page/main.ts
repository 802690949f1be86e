// The page of the dashboard: the address names the selected group, and the stream tells what to show.
import type { Problem } from "../view/wire.ts";
import { Connection } from "./connection.ts";
import { element, find, setText } from "./dom.ts";
import { GroupList } from "./group-list.ts";
import { GroupPanel } from "./group-panel.ts";

/** How far the server's clock is ahead of ours. */
let ahead = 0;
let selected: string | undefined;

/** Times and shares grow while nothing happens. */
const REFRESH_MS = 5_000;

const now = () => Date.now() + ahead;
const list = new GroupList(now);
const panel = new GroupPanel(now);
const state = find("connection", HTMLParagraphElement);

const connection = new Connection(
  {
    groups(event) {
      ahead = event.now - Date.now();
      list.apply(event);
      if (selected === undefined) suggest();
      else panel.view(list.get(selected));
    },
    detail: ({ detail }) => panel.detail(detail),
    pods: (event) => panel.pods(event),
    problems: ({ problems }) => showProblems(problems),
  },
  (text) => setText(state, text),
);

addEventListener("hashchange", follow);
follow();
setInterval(() => {
  list.refresh();
  panel.refresh();
}, REFRESH_MS);

/** Selects the group in the address. */
function follow(): void {
  const key = decodeURIComponent(location.hash.slice(1));
  // The link that skips to the selected group has no slash.
  if (key !== "" && !key.includes("/")) return;
  selected = key === "" ? undefined : key;
  list.select(selected);
  panel.open(selected);
  if (selected !== undefined) panel.view(list.get(selected));
  document.title = selected === undefined ? "reprise" : `${selected} – reprise`;
  connection.open(selected);
}

/** Without a selection, shows the group that most likely brought the visitor here. */
function suggest(): void {
  const key = list.mostInteresting;
  if (key !== undefined) location.replace(`#${key}`);
}

function showProblems(problems: readonly Problem[]): void {
  const lines = problems.map(({ watched, message }) => element("p", {}, `Cannot read ${watched}: ${message}`));
  find("problems", HTMLDivElement).replaceChildren(...lines);
}
