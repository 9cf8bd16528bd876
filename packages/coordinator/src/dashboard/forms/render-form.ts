import { isDeepStrictEqual } from 'node:util';
import { MASK } from '@svc/shared/secret.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { zoneName } from '../../web/times.ts';
import { type Entries, hasNote, noteName, rowsAt, type SecretsInForm, textAt } from './entries.ts';
import { type Control, type Field, type Option, type ResourceForm, singular } from './fields.ts';
import { helpOf, optionalMark } from './help.ts';
import type { Messages } from './messages.ts';
import { newEntries } from './to-entries.ts';

/** The parts of a form that depend on its page. */
type FormFrame = {
  /** Path to which the browser sends the form. */
  readonly action: string;
  /** The hidden field with the session's form token. */
  readonly formToken: Html;
  /** Values of hidden fields: the version of the resource, and the idempotency key of a creation. */
  readonly carried: Readonly<Record<string, string>>;
  /** Names of attributes that have no field, because the page determines them. */
  readonly leftOut: readonly string[];
  /** Content between the fields and the buttons. */
  readonly besides: Html;
  /** Text of the button that saves. */
  readonly save: string;
  /** Further buttons beside the button that saves. */
  readonly buttons: Html;
  /** Path to which the Cancel link leads. */
  readonly cancel: string;
};

/** Renders a form with its sections, messages and buttons. */
export function formHtml(form: ResourceForm, view: FormView, frame: FormFrame): Html {
  const fields = shownFields(form, view.entries, frame.leftOut);
  return html`${summary(view.messages)}
<form class="form resource-form" method="post" action="${frame.action}" novalidate>
${frame.formToken}
<button class="unseen" name="intent" value="save" tabindex="-1" aria-hidden="true">${frame.save}</button>
${Object.entries(frame.carried).map(
  ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
)}
${form.hasSections ? sectionsOf({ fields }).map((section, index) => sectionHtml(view, section, index, newEntries(form))) : fields.map((field) => fieldHtml(view, field, field.name))}
${frame.besides}
${secretsLine(view)}
<div class="row form-actions"><button class="button-main" name="intent" value="save">${frame.save}</button>
${frame.buttons}<a class="button button-quiet" href="${frame.cancel}">Cancel</a></div>
</form>`;
}

/** @param defaults the entries of a new resource */
function sectionHtml(view: FormView, { title, fields }: Section, index: number, defaults: Entries): Html {
  const usual = fields.filter(({ name }) => !RARELY_SET.has(name));
  const rare = fields.filter(({ name }) => RARELY_SET.has(name));
  return html`<section class="form-section" aria-labelledby="section-${index}">
<h2 id="section-${index}">${title}</h2>
${usual.map((field) => fieldHtml(view, field, field.name))}
${rare.length === 0 ? NO_HTML : folded(view, rare, defaults)}
</section>`;
}

/** Fields that are folded, unless one of them differs from its default, has a message, or has the focus. */
function folded(view: FormView, fields: readonly Field[], defaults: Entries): Html {
  const isOpen = fields.some(
    ({ name }) =>
      !isDeepStrictEqual(entriesAt(view.entries, name), entriesAt(defaults, name)) ||
      view.messages.fields.some(({ path }) => isAt(path, name)) ||
      (view.focus !== null && isAt(view.focus, name)),
  );
  const names = fields.map(({ label }) => decapitalized(label)).join(', ');
  return html`<details class="rarely-set"${isOpen ? html` open` : NO_HTML}>
<summary>Rarely set: ${names}</summary>
<div class="form-section">${fields.map((field) => fieldHtml(view, field, field.name))}</div>
</details>`;
}

/** The entries of a field, sorted by their paths. */
function entriesAt(entries: Entries, name: string): unknown {
  return [...entries].filter(([path]) => isAt(path, name)).sort();
}

/** Whether a path belongs to the field with this name: `headers`, `headers.0.key` and `headers.0~row` to `headers`. */
function isAt(path: string, name: string): boolean {
  return path === name || path.startsWith(`${name}.`) || path.startsWith(`${name}~`);
}

/** The fields to show. If the form has a chooser, groups that are not chosen are left out. */
function shownFields({ fields, chooser }: ResourceForm, entries: Entries, leftOut: readonly string[]) {
  const chosen = chooser === null ? null : entries.get(chooser)?.[0];
  return fields.filter(
    ({ name, control }) =>
      !leftOut.includes(name) && (control.type !== 'group' || chosen === null || name === chosen),
  );
}

/** The list of all messages, for the top of the form. A message about a field links to the field. */
function summary({ fields, general }: Messages): Html {
  const count = fields.length + general.length;
  if (count === 0) return NO_HTML;
  return html`<div class="notice notice-error summary" role="alert" tabindex="-1" autofocus>
<p><strong>Nothing was saved: ${count === 1 ? 'one thing needs' : `${count} things need`} your attention.</strong></p>
<ul>${general.map((message) => html`<li>${message}</li>`)}${fields.map(
    ({ path, label, message }) => html`<li><a href="#${elementId(path)}">${label}</a> ${message}</li>`,
  )}</ul>
</div>`;
}

/** The line about hidden secrets, with the button that shows them. */
function secretsLine({ entries, secrets }: FormView): Html {
  if (secrets === 'shown') return html`<input type="hidden" name="secrets" value="shown">`;
  const isHidden = [...entries].some(
    ([name, values]) => name.endsWith('~stored') || values.some((value) => value.includes(MASK)),
  );
  if (!isHidden) return NO_HTML;
  return html`<p class="hint">Stored secrets are not shown, or are shown as <code>${MASK}</code>. They are kept unless you change their fields.
<button class="button-quiet" name="intent" value="secrets">Show stored secrets</button></p>`;
}

/** A resource that a field can refer to. */
export type ReferenceOption = { readonly id: string; readonly label: string; readonly note: string };

/** The options of a field that refers to other resources. */
export type References = {
  readonly options: readonly ReferenceOption[];
  /** The text of the search; '' if nothing is searched. */
  readonly find: string;
  /** Number of resources that the search found, including resources that are not offered. */
  readonly found: number;
  /** Number of all resources to which the field can refer. */
  readonly total: number;
  /** Number of stored members that are not shown. They stay linked. */
  readonly unshown: number;
};

/**
 * The options of a field that are offered first. All other
 * options are folded, except options that are chosen.
 */
export type LikelyOptions = {
  /** All options, where the field itself does not know them. */
  readonly options?: readonly Option[];
  readonly values: ReadonlySet<string>;
  /** What the other options are: `Regions without an agent`. */
  readonly others: string;
};

/** The content and state of a form. */
type FormView = {
  readonly entries: Entries;
  readonly messages: Messages;
  readonly secrets: SecretsInForm;
  /** Whether the resource exists already. Some fields of an existing resource cannot change. */
  readonly isStored: boolean;
  /** Options of the fields that refer to other resources, by the names of the fields. */
  readonly references: ReadonlyMap<string, References>;
  /** By the names of fields; a field without an entry offers all options alike. */
  readonly likely: ReadonlyMap<string, LikelyOptions>;
  /** Path of the input that has the focus; null: none. */
  readonly focus: string | null;
};

/** The element id of an input, to which messages link. */
function elementId(path: string): string {
  return `field-${path}`;
}

/** The messages for a path. */
function messagesAt({ messages }: FormView, path: string): string[] {
  return messages.fields.filter((each) => each.path === path).map(({ message }) => message);
}

/** Renders a field with its label, help and messages. */
function fieldHtml(view: FormView, field: Field, path: string): Html {
  const { control } = field;
  switch (control.type) {
    case 'switch':
      return switchField(view, field, path);
    case 'choices':
      return choices(view, field, control.options, path);
    case 'references':
      return references(view, field, path);
    case 'rows':
      return rowsField(view, field, control, path, fieldHtml);
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
<label for="${id}">${label}${unit}${isUtc(control) ? html` (${zoneName()})` : NO_HTML}${optionalMark(field)}</label>
${helpLine(field, path, isLocked)}
${isLocked ? lockedValue(view, control, path) : input(view, field, control, path)}
${secretNote(view, field, path)}
${fieldErrors(view, path)}
</div>`;
}

function isUtc(control: Control): boolean {
  return control.type === 'local' && control.isUtc === true;
}

function helpLine(field: Field, path: string, isLocked: boolean): Html {
  const fixed = isLocked ? ' It cannot be changed: remove the object and create another one.' : '';
  const help = helpOf(field);
  return help.toString() === '' && fixed === ''
    ? NO_HTML
    : html`<p class="hint" id="${elementId(path)}-help">${help}${fixed}</p>`;
}

/** The messages for an input, with the id that `aria-describedby` names. */
function fieldErrors(view: FormView, path: string): Html {
  const messages = messagesAt(view, path);
  if (messages.length === 0) return NO_HTML;
  return html`<p class="field-error" id="${elementId(path)}-error">${messages.join('; ')}</p>`;
}

/** The attributes of every input: id, name, `aria-describedby`, `aria-invalid` and `autofocus`. */
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
        : textInput(view, field, control.isOwnZone ? html` data-own-zone${attributes}` : attributes, value);
    case 'number':
      // A browser clears an input of type `number` if its text is no
      // number. So the error message would be about an empty field.
      return html`<input type="text" inputmode="decimal" autocomplete="off" class="figure"${attributes} value="${value}">`;
    case 'local':
      return html`<input type="datetime-local" step="any" class="local"${isUtc(control) ? html` data-utc autocomplete="off"` : NO_HTML}${attributes} value="${value}">`;
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

/**
 * An input with several lines. The line feed after the start tag is not part of the value: browsers drop it.
 */
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
  const found = offered === undefined ? NO_HTML : searchField(view, field, offered, path);
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
${fieldErrors(view, path)}
</div>`;
}

function group(view: FormView, { label, help }: Field, fields: readonly Field[], path: string): Html {
  return html`<fieldset class="group" id="${elementId(path)}">
<legend>${label}</legend>
${help === '' || help === `${label}.` ? NO_HTML : html`<p class="hint">${help}</p>`}
${fieldErrors(view, path)}
${fields.map((field) => fieldHtml(view, field, `${path}.${field.name}`))}
</fieldset>`;
}

/** The note below the input of a stored secret that the form does not show. */
function secretNote(view: FormView, { secret, isRequired, label }: Field, path: string): Html {
  if (secret !== 'whole' || !hasNote(view.entries, path, 'stored')) return NO_HTML;
  const isRemoved = hasNote(view.entries, path, 'remove');
  const remove = noteName(path, 'remove');
  return html`<input type="hidden" name="${noteName(path, 'stored')}" value="true">
<p class="hint stored-secret">A value is stored. It is kept while this field is empty.</p>
${
  isRequired
    ? NO_HTML
    : html`<label class="choice"><input type="checkbox" name="${remove}" value="true"${isRemoved ? html` checked` : NO_HTML}> Remove the stored ${label.toLowerCase()}</label>`
}`;
}

/** Options with a checkbox each. */
function choices(view: FormView, field: Field, options: readonly Option[], path: string): Html {
  const chosen = new Set(view.entries.get(path));
  const boxes = (some: readonly Option[]) =>
    html`<div class="boxes">${some.map(({ value, label }) => checkbox(path, value, label, chosen.has(value)))}</div>`;
  const likely = view.likely.get(path);
  const all = likely?.options ?? options;
  const isFirst = ({ value }: Option) =>
    likely === undefined || likely.values.has(value) || chosen.has(value);
  const others = all.filter((option) => !isFirst(option));
  const folded = html`<details><summary>${likely?.others ?? ''} (${others.length})</summary>${boxes(others)}</details>`;
  return choiceSet(
    view,
    field,
    path,
    html`${boxes(all.filter(isFirst))}${others.length === 0 ? NO_HTML : folded}`,
  );
}

/**
 * Other resources with a checkbox each. If there are many, the field
 * lists only the chosen resources and the results of the search.
 */
function references(view: FormView, field: Field, path: string): Html {
  const chosen = new Set(view.entries.get(path));
  const offered = view.references.get(field.name);
  if (offered === undefined) return NO_HTML;
  const { options, unshown } = offered;
  const boxes = options.map(
    ({ id, label, note }) =>
      html`${checkbox(path, id, note === '' ? label : html`${label} <span class="soft small">${note}</span>`, chosen.has(id))}<input type="hidden" name="${noteName(path, 'shown')}" value="${id}">`,
  );
  return choiceSet(
    view,
    field,
    path,
    html`${options.length === 0 ? NO_HTML : html`<div class="boxes boxes-wide">${boxes}</div>`}
${unshown === 0 ? NO_HTML : html`<p class="hint">${unshown} more are linked, and stay linked. Search for one to unlink it.</p>`}
${searchField(view, field, offered, path)}`,
  );
}

/** The search field, if not all resources are offered. */
function searchField(
  view: FormView,
  { label }: Field,
  { options, found, total, find }: References,
  path: string,
): Html {
  const name = noteName(path, 'find');
  if (total === 0) return html`<p class="hint">There are none yet.</p>`;
  if (total <= options.length && find === '') return NO_HTML;
  const said = find === '' ? `Only the chosen ones of ${total} are listed.` : `${found} of ${total} match.`;
  return html`<div class="find"><label for="${elementId(name)}">Search ${label.toLowerCase()}</label>
<div class="row"><input type="text" id="${elementId(name)}" name="${name}" value="${textAt(view.entries, name)}"${view.focus === name ? html` autofocus` : NO_HTML}>
<button name="intent" value="find ${path}">Search</button></div>
<p class="hint">${said}</p></div>`;
}

function choiceSet(view: FormView, field: Field, path: string, content: Html): Html {
  const id = elementId(path);
  const wrong = messagesAt(view, path);
  return html`<fieldset class="set" id="${id}" aria-describedby="${id}-help">
<legend>${field.label}</legend>
<p class="hint" id="${id}-help">${helpOf(field)}</p>
${wrong.length === 0 ? NO_HTML : html`<p class="field-error">${wrong.join('; ')}</p>`}
${content}
</fieldset>`;
}

function checkbox(path: string, value: string, label: Html | string, isChosen: boolean): Html {
  return html`<label class="choice"><input type="checkbox" name="${path}" value="${value}"${isChosen ? html` checked` : NO_HTML}> <span>${label}</span></label>`;
}

type Rows = Extract<Control, { type: 'rows' }>;
type RenderField = (view: FormView, field: Field, path: string) => Html;

/**
 * A list of objects, one row for each. The buttons that add and remove rows send the form
 * as it is filled in. The server answers with the form, which has one row more or less.
 *
 * @param inner renders the fields of a row
 */
function rowsField(view: FormView, field: Field, control: Rows, path: string, inner: RenderField): Html {
  const id = elementId(path);
  const indexes = rowsAt(view.entries, path);
  const one = singular(field.label);
  const isFull = indexes.length >= control.maximum;
  const wrong = messagesAt(view, path);
  return html`<fieldset class="rows" id="${id}" aria-describedby="${id}-help"${view.focus === path ? html` tabindex="-1" autofocus` : NO_HTML}>
<legend>${field.label}</legend>
<p class="hint" id="${id}-help">${helpOf(field)}</p>
${wrong.length === 0 ? NO_HTML : html`<p class="field-error" id="${id}-error">${wrong.join('; ')}</p>`}
${indexes.map((index) => rowFields(view, control, { path: `${path}.${index}`, name: `${one} ${index + 1}`, inner }))}
<button class="button-quiet add" name="intent" value="add ${path}"${isFull ? html` disabled` : NO_HTML}>Add ${decapitalized(one)}</button>
</fieldset>`;
}

type Row = { readonly path: string; readonly name: string; readonly inner: RenderField };

function rowFields(view: FormView, { fields }: Rows, { path, name, inner }: Row): Html {
  const wrong = messagesAt(view, path);
  const reference = noteName(path, 'row');
  // Only the first row shows the help of the fields.
  const isFirst = path.endsWith('.0');
  const shown = isFirst ? fields : fields.map((field) => ({ ...field, help: '' }));
  return html`<div class="rows-row" role="group" aria-label="${name}" id="${elementId(path)}">
${hasNote(view.entries, path, 'row') ? html`<input type="hidden" name="${reference}" value="${textAt(view.entries, reference)}">` : NO_HTML}
<div class="rows-fields">${shown.map((field) => inner(view, field, `${path}.${field.name}`))}</div>
${wrong.length === 0 ? NO_HTML : html`<p class="field-error">${wrong.join('; ')}</p>`}
<button class="button-quiet remove" name="intent" value="remove ${path}" aria-label="Remove ${decapitalized(name)}">Remove</button>
</div>`;
}

/** A label in the middle of a sentence: `header` for `Header`. `OTLP header` stays unchanged. */
function decapitalized(text: string): string {
  return /^[A-Z]{2}/.test(text) ? text : text.slice(0, 1).toLowerCase() + text.slice(1);
}

/** A part of a form, with its fields in the order in which people fill them in. */
type Section = { readonly title: string; readonly fields: readonly Field[] };

/**
 * The sections of a form, each with the names of its
 * attributes. A resource need not have all these attributes.
 */
const SECTIONS: readonly { readonly title: string; readonly names: readonly string[] }[] = [
  { title: 'What is checked', names: ['url', 'uri', 'method', 'headers', 'body', 'follow_redirects'] },
  {
    title: 'What must hold',
    names: [
      'status_code_assertions',
      'body_assertions',
      'header_assertions',
      'record_assertions',
      'degraded_at',
      'certificate_expiry_days',
    ],
  },
  {
    title: 'When and where',
    names: [
      'active',
      'periodicity',
      'timeout',
      'retry',
      'regions',
      'quorum',
      'confirm_after',
      'recover_after',
    ],
  },
  { title: 'Export of metrics', names: ['otlp_endpoint', 'otlp_headers'] },
  { title: 'Who may see it', names: ['public', 'access_type', 'password', 'auth_email_domains'] },
  { title: 'Links', names: ['homepage_url', 'contact_url', 'icon', 'custom_domain'] },
  { title: 'When', names: ['starts_at', 'ends_at', 'time_zone', 'repeat'] },
  { title: 'Alerts', names: ['monitor_ids', 'group_alerts', 'notify_unknown', 'remind_every'] },
  { title: 'Where visitors see it', names: ['page_ids', 'component_ids'] },
];

/** Attributes of monitors that few people set. Their section folds them. */
const RARELY_SET: ReadonlySet<string> = new Set([
  ...['method', 'headers', 'body', 'follow_redirects', 'header_assertions', 'certificate_expiry_days'],
  ...['timeout', 'retry', 'quorum', 'confirm_after', 'recover_after', 'otlp_endpoint', 'otlp_headers'],
]);

/**
 * Title of the section for attributes that {@link SECTIONS} does not
 * name, such as names, descriptions and the settings of a channel.
 */
const GENERAL = 'General';

/** Puts each field into one section. Fields that belong to none of {@link SECTIONS} come first. */
function sectionsOf({ fields }: Pick<ResourceForm, 'fields'>): Section[] {
  const placed = new Set(SECTIONS.flatMap(({ names }) => names));
  const general = fields.filter(({ name }) => !placed.has(name));
  const others = SECTIONS.map(({ title, names }) => ({
    title,
    fields: names.flatMap((name) => fields.filter((field) => field.name === name)),
  }));
  return [{ title: GENERAL, fields: general }, ...others].filter((section) => section.fields.length > 0);
}
