import { randomUUID } from 'node:crypto';
import type { ProblemDocument } from '../../api/problem.ts';
import type { Form } from '../../web/forms.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';

/** An option of a choice, or an object that can be ticked. */
export type Option = { readonly value: string; readonly label: string };

/** A field of a form for a note. Its name is that of the member of the API's body. */
export type NoteField = {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
} & (
  | { readonly type: 'text' | 'lines' | 'local' }
  | { readonly type: 'choice'; readonly options: readonly Option[] }
  | { readonly type: 'ticks'; readonly options: readonly Option[] }
);

/** What of a form is sent again: its fields, and what the API said of them. */
export type Sent = { readonly form: Form; readonly problem: ProblemDocument | null };

/** Name of the field with the key of the creation: a form that is sent twice creates once. */
const KEY_FIELD = 'draft_key';

/** The hidden field with the key. It stays the same when the form is shown again with messages. */
export function keyField({ form }: Pick<Sent, 'form'>): Html {
  return html`<input type="hidden" name="${KEY_FIELD}" value="${form.text(KEY_FIELD) || randomUUID()}">`;
}

/** The header that gives the key to the API; none where the form has no key of ours. */
export function keyHeader(form: Form): Record<string, string> {
  const key = form.text(KEY_FIELD);
  return /^[\w-]{1,64}$/.test(key) ? { 'idempotency-key': key } : {};
}

/** The fields of a form with what was entered, and the API's messages at their fields. */
export function noteFields(fields: readonly NoteField[], { form, problem }: Sent): Html {
  const shown = new Set<object>();
  const rendered = fields.map((field) => {
    const errors = (problem?.errors ?? []).filter(({ pointer }) => pointer.split('/')[1] === field.name);
    for (const error of errors) shown.add(error);
    return fieldOf(
      field,
      form,
      errors.map(({ message }) => message),
    );
  });
  return html`${problem === null ? NO_HTML : summary(problem, shown)}${rendered}`;
}

/** The problem as a whole, with the errors that stand at no field. */
function summary({ detail, errors }: ProblemDocument, shown: ReadonlySet<object>): Html {
  const others = errors.filter((error) => !shown.has(error));
  return html`<div class="notice notice-error" role="alert"><p>Nothing was changed: ${detail}.</p>${
    others.length === 0
      ? NO_HTML
      : html`<ul class="plain-list">${others.map(({ pointer, message }) => html`<li>${pointer.slice(1)} ${message}</li>`)}</ul>`
  }</div>`;
}

function fieldOf(field: NoteField, form: Form, errors: readonly string[]): Html {
  const { name, label, hint } = field;
  const id = `field-${name}`;
  const notes = html`${hint === undefined ? NO_HTML : html`<p class="hint" id="${id}-hint">${hint}</p>`}${errors.map(
    (message) => html`<p class="field-error" id="${id}-error">${message}</p>`,
  )}`;
  const described = [
    ...(hint === undefined ? [] : [`${id}-hint`]),
    ...(errors.length > 0 ? [`${id}-error`] : []),
  ];
  const more = html`${described.length === 0 ? NO_HTML : html` aria-describedby="${described.join(' ')}"`}${errors.length > 0 ? html` aria-invalid="true"` : NO_HTML}`;
  if (field.type === 'ticks') {
    const ticked = new Set(form.all(name));
    return html`<fieldset class="field"><legend>${label}</legend>${notes}${
      field.options.length === 0 ? html`<p class="hint">There are none.</p>` : NO_HTML
    }${field.options.map(
      ({ value, label: text }) =>
        html`<label class="choice"><input type="checkbox" name="${name}" value="${value}"${ticked.has(value) ? html` checked` : NO_HTML}>${text}</label>`,
    )}</fieldset>`;
  }
  return html`<div class="field"><label for="${id}">${label}</label>${control(field, id, form.text(name), more)}${notes}</div>`;
}

function control(field: Exclude<NoteField, { type: 'ticks' }>, id: string, value: string, more: Html): Html {
  const { name } = field;
  switch (field.type) {
    case 'text':
      return html`<input id="${id}" name="${name}" value="${value}"${more}>`;
    case 'local':
      return html`<input id="${id}" name="${name}" type="datetime-local" value="${value}"${more}>`;
    case 'lines':
      return html`<textarea id="${id}" name="${name}" rows="4"${more}>${value}</textarea>`;
    case 'choice':
      return html`<select id="${id}" name="${name}"${more}>${field.options.map(
        (option) =>
          html`<option value="${option.value}"${option.value === value ? html` selected` : NO_HTML}>${option.label}</option>`,
      )}</select>`;
  }
}
