import { type Html, html, NO_HTML } from '../../web/html.ts';
import { hasNote, noted, rowsAt, textAt } from './entries.ts';
import type { Control, Field } from './fields.ts';
import { elementId, type FormView, messagesAt } from './form-view.ts';
import { helpOf } from './help.ts';
import { singular } from './labels.ts';

type Rows = Extract<Control, { type: 'rows' }>;
type RenderField = (view: FormView, field: Field, path: string) => Html;

/**
 * A list of objects. Its buttons send the draft, and the form comes back with one row more or less.
 *
 * @param inner renders the fields of a row
 */
export function rows(view: FormView, field: Field, control: Rows, path: string, inner: RenderField): Html {
  const id = elementId(path);
  const indexes = rowsAt(view.entries, path);
  const one = singular(field.label);
  const isFull = indexes.length >= control.maximum;
  const wrong = messagesAt(view, path);
  return html`<fieldset class="rows" id="${id}" aria-describedby="${id}-help"${view.focus === path ? html` tabindex="-1" autofocus` : NO_HTML}>
<legend>${field.label}</legend>
<p class="hint" id="${id}-help">${helpOf(field)}</p>
${wrong.length === 0 ? NO_HTML : html`<p class="field-error" id="${id}-error">${wrong.join('; ')}</p>`}
${indexes.map((index) => row(view, control, { path: `${path}.${index}`, name: `${one} ${index + 1}`, inner }))}
<button class="button-quiet add" name="intent" value="add ${path}"${isFull ? html` disabled` : NO_HTML}>Add ${decapitalized(one)}</button>
</fieldset>`;
}

type Row = { readonly path: string; readonly name: string; readonly inner: RenderField };

function row(view: FormView, { fields }: Rows, { path, name, inner }: Row): Html {
  const wrong = messagesAt(view, path);
  const reference = noted(path, 'row');
  // Help for the fields of each row would repeat itself: the first row has it.
  const isFirst = path.endsWith('.0');
  const shown = isFirst ? fields : fields.map((field) => ({ ...field, help: '' }));
  return html`<div class="rows-row" role="group" aria-label="${name}" id="${elementId(path)}">
${hasNote(view.entries, path, 'row') ? html`<input type="hidden" name="${reference}" value="${textAt(view.entries, reference)}">` : NO_HTML}
<div class="rows-fields">${shown.map((field) => inner(view, field, `${path}.${field.name}`))}</div>
${wrong.length === 0 ? NO_HTML : html`<p class="field-error">${wrong.join('; ')}</p>`}
<button class="button-quiet remove" name="intent" value="remove ${path}" aria-label="Remove ${decapitalized(name)}">Remove</button>
</div>`;
}

/** `Header` in the middle of a sentence; `OTLP header` stays. */
function decapitalized(text: string): string {
  return /^[A-Z]{2}/.test(text) ? text : text.slice(0, 1).toLowerCase() + text.slice(1);
}
