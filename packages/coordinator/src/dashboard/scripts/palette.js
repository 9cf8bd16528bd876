/*
 * The command palette. The key `/` opens a list of pages and of objects whose names contain the typed text.
 * Arrow keys choose an entry, and Enter opens it. Without this script the navigation and the search of the
 * overview lead to the same pages.
 */

/** @typedef {{ label: string, group: string, href: string }} Entry */

const dialog = document.createElement('dialog');
dialog.className = 'palette';
dialog.setAttribute('aria-label', 'Go to');
dialog.innerHTML = `<input type="text" role="combobox" aria-label="Go to a page, a monitor or a channel" autocomplete="off"
  spellcheck="false" aria-expanded="true" aria-controls="palette-list" aria-autocomplete="list"
  placeholder="Go to a page, a monitor, a channel …"><ul id="palette-list" role="listbox" aria-label="Results"></ul>
  <p class="soft small" role="status"></p>`;
document.body.append(dialog);
const input = /** @type {HTMLInputElement} */ (dialog.querySelector('input'));
const list = /** @type {HTMLUListElement} */ (dialog.querySelector('ul'));
const status = /** @type {HTMLParagraphElement} */ (dialog.querySelector('p'));
let chosen = 0;
/** @type {AbortController | null} */
let asking = null;

async function ask() {
  asking?.abort();
  asking = new AbortController();
  const { signal } = asking;
  try {
    const response = await fetch(`/palette?q=${encodeURIComponent(input.value)}`, { signal });
    if (!response.ok || response.redirected) throw new Error(String(response.status));
    const { entries } = /** @type {{ entries: Entry[] }} */ (await response.json());
    show(entries);
  } catch {
    // A newer search has replaced this one, or the service does not answer.
    if (!signal.aborted) status.textContent = 'The service does not answer.';
  }
}

/** @param {readonly Entry[]} entries */
function show(entries) {
  list.replaceChildren(
    ...entries.map(({ label, group, href }, index) => {
      const item = document.createElement('li');
      item.id = `palette-${index}`;
      item.setAttribute('role', 'option');
      item.dataset.href = href;
      const name = document.createElement('span');
      name.textContent = label;
      const kind = document.createElement('span');
      kind.className = 'soft small';
      kind.textContent = group;
      item.append(name, kind);
      item.addEventListener('click', () => open(item));
      return item;
    }),
  );
  status.textContent = entries.length === 0 ? 'Nothing has this name.' : '';
  choose(0);
}

/** @param {number} index */
function choose(index) {
  const count = list.children.length;
  chosen = count === 0 ? 0 : (index + count) % count;
  for (const [at, item] of [...list.children].entries())
    item.setAttribute('aria-selected', String(at === chosen));
  const item = list.children[chosen];
  if (item === undefined) input.removeAttribute('aria-activedescendant');
  else input.setAttribute('aria-activedescendant', item.id);
  item?.scrollIntoView({ block: 'nearest' });
}

/** @param {Element | undefined} item */
function open(item) {
  if (item instanceof HTMLElement && item.dataset.href !== undefined) location.assign(item.dataset.href);
}

function start() {
  if (dialog.open) return;
  input.value = '';
  dialog.showModal();
  void ask();
}

input.addEventListener('input', () => void ask());
input.addEventListener('keydown', (event) => {
  if (event.key === 'ArrowDown') choose(chosen + 1);
  else if (event.key === 'ArrowUp') choose(chosen - 1);
  else if (event.key === 'Enter') open(list.children[chosen]);
  else return;
  event.preventDefault();
});
dialog.addEventListener('click', (event) => {
  if (event.target === dialog) dialog.close();
});
document.addEventListener('keydown', (event) => {
  const { target } = event;
  const isTyping =
    target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]');
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  start();
});
for (const button of document.querySelectorAll('[data-palette]')) {
  button.removeAttribute('hidden');
  button.addEventListener('click', start);
}
