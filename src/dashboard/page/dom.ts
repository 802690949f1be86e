// Elements made by code. Text from the cluster is only ever set as text, so no name or message can become HTML.

type Child = Node | string;

interface Attributes {
  readonly class?: string;
  /** The name of the column, for narrow screens. */
  readonly label?: string;
}

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (attributes.class !== undefined) made.className = attributes.class;
  if (attributes.label !== undefined) made.dataset["label"] = attributes.label;
  made.append(...children);
  return made;
}

/** An element of the page that index.html has. */
export function find<T extends HTMLElement>(id: string, type: new () => T): T {
  const found = document.getElementById(id);
  if (found instanceof type) return found;
  throw new Error(`the page has no ${type.name} with the id ${id}`);
}

/** Changes the text only if it differs, so that screen readers announce changes only. */
export function setText(node: HTMLElement, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}
