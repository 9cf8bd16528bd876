import { type Html, html, NO_HTML } from '../../web/html.ts';
import { noted, textAt } from './entries.ts';
import type { Field, Option } from './fields.ts';
import { elementId, type FormView, messagesAt, type References } from './form-view.ts';
import { helpOf } from './help.ts';

/** Any number of options, each with a box. */
export function choices(view: FormView, field: Field, options: readonly Option[], path: string): Html {
  const chosen = new Set(view.entries.get(path));
  return set(
    view,
    field,
    path,
    html`<div class="boxes">${options.map(({ value, label }) => box(path, value, label, chosen.has(value)))}</div>`,
  );
}

/** Any number of other resources. Where there are many, those that are searched for. */
export function references(view: FormView, field: Field, path: string): Html {
  const chosen = new Set(view.entries.get(path));
  const offered = view.references.get(field.name);
  if (offered === undefined) return NO_HTML;
  const { options, unshown } = offered;
  const boxes = options.map(
    ({ id, label, note }) =>
      html`${box(path, id, note === '' ? label : html`${label} <span class="soft small">${note}</span>`, chosen.has(id))}<input type="hidden" name="${noted(path, 'shown')}" value="${id}">`,
  );
  return set(
    view,
    field,
    path,
    html`${options.length === 0 ? NO_HTML : html`<div class="boxes boxes-wide">${boxes}</div>`}
${unshown === 0 ? NO_HTML : html`<p class="hint">${unshown} more are linked and stay so. Search for one to unlink it.</p>`}
${search(view, field, offered, path)}`,
  );
}

/** The search where not everything is offered. */
export function search(
  view: FormView,
  { label }: Field,
  { options, found, total, find }: References,
  path: string,
): Html {
  const name = noted(path, 'find');
  if (total === 0) return html`<p class="hint">There are none yet.</p>`;
  if (total <= options.length && find === '') return NO_HTML;
  const said =
    find === '' ? `Of ${total}, only those that are chosen are listed.` : `${found} of ${total} match.`;
  return html`<div class="find"><label for="${elementId(name)}">Search ${label.toLowerCase()}</label>
<div class="row"><input type="text" id="${elementId(name)}" name="${name}" value="${textAt(view.entries, name)}"${view.focus === name ? html` autofocus` : NO_HTML}>
<button name="intent" value="find ${path}">Search</button></div>
<p class="hint">${said}</p></div>`;
}

function set(view: FormView, field: Field, path: string, content: Html): Html {
  const id = elementId(path);
  const wrong = messagesAt(view, path);
  return html`<fieldset class="set" id="${id}" aria-describedby="${id}-help">
<legend>${field.label}</legend>
<p class="hint" id="${id}-help">${helpOf(field)}</p>
${wrong.length === 0 ? NO_HTML : html`<p class="field-error">${wrong.join('; ')}</p>`}
${content}
</fieldset>`;
}

function box(path: string, value: string, label: Html | string, isChosen: boolean): Html {
  return html`<label class="choice"><input type="checkbox" name="${path}" value="${value}"${isChosen ? html` checked` : NO_HTML}> <span>${label}</span></label>`;
}
