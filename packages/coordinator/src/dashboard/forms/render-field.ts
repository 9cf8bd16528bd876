import { type Html, html, NO_HTML } from '../../web/html.ts';
import { hasNote, noted, textAt } from './entries.ts';
import type { Control, Field } from './fields.ts';
import { elementId, type FormView, messagesAt } from './form-view.ts';
import { helpOf, optionalMark } from './help.ts';
import { choices, references, search } from './render-choices.ts';
import { rows } from './render-rows.ts';

/** A field with its label, help and messages. */
export function fieldHtml(view: FormView, field: Field, path: string): Html {
  const { control } = field;
  switch (control.type) {
    case 'switch':
      return switchField(view, field, path);
    case 'choices':
      return choices(view, field, control.options, path);
    case 'references':
      return references(view, field, path);
    case 'rows':
      return rows(view, field, control, path, fieldHtml);
    case 'group':
      return group(view, field, control.fields, path);
    default:
      return labelledField(view, field, control, path);
  }
}

type Labelled = Extract<Control, { type: 'text' | 'number' | 'choice' | 'local' | 'reference' | 'texts' }>;

function labelledField(view: FormView, field: Field, control: Labelled, path: string): Html {
  const id = elementId(path);
  const { label, isFixed } = field;
  const isLocked = isFixed && view.isStored;
  const unit = control.type === 'number' && control.unit !== undefined ? `, ${control.unit}` : '';
  return html`<div class="field">
<label for="${id}">${label}${unit}${optionalMark(field)}</label>
${helpLine(field, path, isLocked)}
${isLocked ? lockedValue(view, control, path) : input(view, field, control, path)}
${secretNote(view, field, path)}
${errors(view, path)}
</div>`;
}

function helpLine(field: Field, path: string, isLocked: boolean): Html {
  const fixed = isLocked ? ' It cannot be changed: remove the object and make another one.' : '';
  const help = helpOf(field);
  return help.toString() === '' && fixed === ''
    ? NO_HTML
    : html`<p class="hint" id="${elementId(path)}-help">${help}${fixed}</p>`;
}

/** What is wrong with a field, where its input is described by it. */
function errors(view: FormView, path: string): Html {
  const messages = messagesAt(view, path);
  if (messages.length === 0) return NO_HTML;
  return html`<p class="field-error" id="${elementId(path)}-error">${messages.join('; ')}</p>`;
}

/** Attributes that every input has: its id, its name, what describes it. */
function inputAttributes(view: FormView, field: Field, path: string): Html {
  const id = elementId(path);
  const isWrong = messagesAt(view, path).length > 0;
  const hasHelp = helpOf(field).toString() !== '';
  const described = [hasHelp ? `${id}-help` : '', isWrong ? `${id}-error` : ''].filter((each) => each !== '');
  return html` id="${id}" name="${path}"${
    described.length === 0 ? NO_HTML : html` aria-describedby="${described.join(' ')}"`
  }${isWrong ? html` aria-invalid="true"` : NO_HTML}${view.focus === path ? html` autofocus` : NO_HTML}`;
}

function input(view: FormView, field: Field, control: Labelled, path: string): Html {
  const attributes = inputAttributes(view, field, path);
  const value = textAt(view.entries, path);
  switch (control.type) {
    case 'text':
      return control.isMultiline && field.secret !== 'whole'
        ? textArea(attributes, value, value.includes('\n') ? 6 : 2)
        : textInput(view, field, attributes, value);
    case 'number':
      // Browsers drop what is no number from an input of that type, and the message would be about nothing.
      return html`<input type="text" inputmode="decimal" autocomplete="off" class="figure"${attributes} value="${value}">`;
    case 'local':
      return html`<input type="datetime-local" step="any" class="local"${attributes} value="${value}">`;
    case 'texts':
      return textArea(attributes, value, 4);
    case 'choice':
      return select(attributes, value, field, control.options);
    case 'reference':
      return reference(view, field, attributes, path);
  }
}

function textInput({ secrets }: FormView, { secret }: Field, attributes: Html, value: string): Html {
  const isHidden = secret === 'whole' && secrets === 'kept';
  return html`<input type="${isHidden ? 'password' : 'text'}" autocomplete="${isHidden ? 'new-password' : 'off'}" autocapitalize="off" spellcheck="false"${attributes} value="${value}">`;
}

/** A line feed at the start is the template's: a browser drops it. */
function textArea(attributes: Html, value: string, lines: number): Html {
  return html`<textarea rows="${lines}" spellcheck="false"${attributes}>
${value}</textarea>`;
}

function select(
  attributes: Html,
  value: string,
  { isRequired }: Field,
  options: readonly { value: string; label: string }[],
): Html {
  const isKnown = options.some((option) => option.value === value);
  const empty = isRequired ? 'Choose…' : 'None';
  return html`<select${attributes}>
${isKnown ? NO_HTML : html`<option value="${value}" selected>${value === '' ? empty : value}</option>`}${
  isKnown && !isRequired ? html`<option value="">${empty}</option>` : NO_HTML
}${options.map(
  (option) =>
    html`<option value="${option.value}"${option.value === value ? html` selected` : NO_HTML}>${option.label}</option>`,
)}
</select>`;
}

function reference(view: FormView, field: Field, attributes: Html, path: string): Html {
  const offered = view.references.get(field.name);
  const options = (offered?.options ?? []).map(({ id, label, note }) => ({
    value: id,
    label: note === '' ? label : `${label} (${note})`,
  }));
  const found = offered === undefined ? NO_HTML : search(view, field, offered, path);
  return html`${select(attributes, textAt(view.entries, path), field, options)}${found}`;
}

function lockedValue(view: FormView, control: Labelled, path: string): Html {
  const value = textAt(view.entries, path);
  const shown =
    control.type === 'choice' ? control.options.find((option) => option.value === value)?.label : undefined;
  return html`<input type="text" id="${elementId(path)}" readonly value="${shown ?? value}"><input type="hidden" name="${path}" value="${value}">`;
}

function switchField(view: FormView, field: Field, path: string): Html {
  const isOn = view.entries.has(path);
  return html`<div class="field">
<label class="choice"><input type="checkbox" value="true"${inputAttributes(view, field, path)}${isOn ? html` checked` : NO_HTML}> ${field.label}</label>
${helpLine(field, path, false)}
${errors(view, path)}
</div>`;
}

function group(view: FormView, { label, help }: Field, fields: readonly Field[], path: string): Html {
  return html`<fieldset class="group" id="${elementId(path)}">
<legend>${label}</legend>
${help === '' || help === `${label}.` ? NO_HTML : html`<p class="hint">${help}</p>`}
${errors(view, path)}
${fields.map((field) => fieldHtml(view, field, `${path}.${field.name}`))}
</fieldset>`;
}

/** What the form does with a secret that it does not show. */
function secretNote(view: FormView, { secret, isRequired, label }: Field, path: string): Html {
  if (secret !== 'whole' || !hasNote(view.entries, path, 'stored')) return NO_HTML;
  const isRemoved = hasNote(view.entries, path, 'remove');
  const remove = noted(path, 'remove');
  return html`<input type="hidden" name="${noted(path, 'stored')}" value="true">
<p class="hint stored-secret">A value is stored. It stays while this field is empty.</p>
${
  isRequired
    ? NO_HTML
    : html`<label class="choice"><input type="checkbox" name="${remove}" value="true"${isRemoved ? html` checked` : NO_HTML}> Remove the stored ${label.toLowerCase()}</label>`
}`;
}
