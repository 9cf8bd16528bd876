import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { EndpointAnswering } from '../../api/endpoint.ts';
import type { Called } from '../../api/in-process.ts';
import type { Problem } from '../../api/problem.ts';
import type { Asset } from '../../web/assets.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { FORM_STYLE } from '../dashboard-assets.ts';
import type { DashboardAnswer, DashboardRequest } from '../dashboard-page.ts';
import { withoutEmptyRows, withoutRow, withRow, withSecrets } from '../forms/editing.ts';
import {
  type Draft,
  draftIn,
  type Entries,
  KEY_FIELD,
  noteName,
  type SecretsInForm,
  VERSION_FIELD,
} from '../forms/entries.ts';
import type { ResourceForm } from '../forms/fields.ts';
import { type Messages, messagesOf, NO_MESSAGES, repeatedKeys } from '../forms/messages.ts';
import { formHtml, type LikelyOptions } from '../forms/render-form.ts';
import { entriesOf, newEntries } from '../forms/to-entries.ts';
import { resourceFrom } from '../forms/to-resource.ts';
import { pageHead } from '../page-parts.ts';
import { declaredIn, declaredPage, headOf, shortValue, withoutSecrets } from './declared.ts';
import { referencesFor } from './reference-options.ts';

/**
 * The form of one kind of resource, for new and existing resources.
 *
 *     GET ── filled in ──▶ form ── save ──▶ the API: saved ──▶ another page
 *                            ▲                 ├─ refused: the draft with the API's messages ──┐
 *                            │                 └─ changed by somebody else: the draft with the  │
 *                            │                    differences; another save overwrites them ────┤
 *                            └── add, remove, find, secrets, trial: the changed draft ◀─────────┘
 */
export type Editor = {
  readonly form: ResourceForm;
  /** The endpoints for resources of this kind. */
  readonly objects: {
    readonly create: EndpointAnswering<Saved>;
    readonly read: EndpointAnswering<Answered>;
    readonly replace: EndpointAnswering<Saved>;
  };
  /** Ids of the parent objects by path parameter; left out: the objects have no parent. */
  readonly above?: Readonly<Record<string, number | string>>;
  /** Noun for texts: `monitor`. */
  readonly noun: string;
  /** Heading above the form of a new resource. */
  readonly newTitle: string;
  /** Heading above the form of an existing resource; left out: `Settings`. */
  readonly heading?: string;
  /** The page that lists the resources. */
  readonly list: { readonly href: string; readonly label: string };
  /** Name of a resource for people. */
  nameOf(resource: Json): string;
  /** Content between heading and form; left out: no content. */
  readonly introduction?: Html;
  /** Attributes that the path determines. They have no field. */
  readonly leftOut?: readonly string[];
  /** Values of a new resource in addition to the defaults of its definition. */
  readonly initial?: Readonly<Record<string, unknown>>;
  /** Path of the page with the form of a new resource. */
  readonly newPath: string;
  /** Path of the page with the form of an existing resource. */
  editPath(id: string): string;
  /**
   * Path of the page that opens after the form was saved or cancelled.
   *
   * @param id null: a new resource that was not saved
   */
  after(id: string | null): string;
  /** Text of the button that saves a new resource; left out: `Create` and the noun. */
  readonly create?: string;
  /** Converts an object of the API for its form; left out: no conversion. */
  toForm?(object: Json): Json;
  /**
   * Converts the form's content to a request body; left out: no conversion.
   *
   * @param stored null: a new resource
   */
  toBody?(filled: Json, stored: Pick<Stored, 'body' | 'answered'> | null): Json;
  /** Reads which options of fields are offered first, by the names of the fields; left out: all alike. */
  likelyOptions?(
    request: Pick<DashboardRequest, 'api' | 'regionText'>,
  ): Promise<ReadonlyMap<string, LikelyOptions>>;
  /**
   * Content between the fields and the buttons, for what is saved with the resource and is no attribute of it;
   * left out: no content.
   *
   * @param id null: a new resource
   */
  besides?(request: DashboardRequest, id: string | null): Promise<Html>;
  /**
   * Called after the resource was saved; left out: nothing more happens.
   *
   * @returns what went wrong, for the notice; null: nothing
   */
  saved?(request: DashboardRequest, id: string, isNew: boolean): Promise<string | null>;
  /** A further button that tries a draft; left out: there is no such button. */
  readonly trial?: Trial;
};

type Json = Readonly<Record<string, unknown>>;

/** A resource in the API's answers. */
type Answered = Json & { readonly id: string };

/** The API's answer after a resource was saved. */
type Saved = { readonly id: string; readonly warnings?: readonly string[] };

/** A button that tries a draft without saving it. */
export type Trial = {
  readonly button: Html;
  /** Styles of the shown result, in addition to the style of forms. */
  readonly styles: readonly Asset[];
  /**
   * Tries the draft.
   *
   * @returns content to show above the form, or the problem with the draft
   */
  run(request: DashboardRequest, body: object): Promise<{ readonly shown: Html } | Problem>;
};

type Stored = {
  readonly id: string;
  /** The resource after conversion for the form. */
  readonly body: Json;
  /** The resource as the API returned it. */
  readonly answered: Json;
  readonly version: string;
};

/** The content that a form shows next. */
type Shown = {
  readonly stored: Stored | null;
  readonly entries: Entries;
  readonly messages?: Messages;
  readonly secrets: SecretsInForm;
  readonly focus?: string;
  /** Notice above the form. */
  readonly notice?: Html;
  readonly key: string;
  /** Entity tag that the form sends; left out: the version of `stored`. */
  readonly version?: string;
  readonly status?: number;
};

/** Shows the form of a new resource. */
export function openNewForm(request: DashboardRequest, editor: Editor): Promise<DashboardAnswer> {
  const entries = newEntries(editor.form, editor.initial);
  return showForm(request, editor, { stored: null, entries, secrets: 'shown', key: randomUUID() });
}

/**
 * Shows the form of an existing resource. If a file declares the resource, the page shows it without a form.
 */
export async function openStoredForm(
  request: DashboardRequest,
  editor: Editor,
  id: number,
): Promise<DashboardAnswer> {
  const called = await request.api.call(editor.objects.read, { ...editor.above, id });
  if (called.problem !== null) throw called.problem;
  const declared = declaredIn(called.headers);
  if (declared !== null) return declaredPage(editor, called.body, declared);
  const stored = storedIn(editor, called.headers, called.body);
  const entries = entriesOf(editor.form, stored.body, 'kept');
  return showForm(request, editor, { stored, entries, secrets: 'kept', key: '' });
}

/**
 * Handles a sent form, as the pressed button says.
 *
 * @param id null: the form of a new resource
 */
export async function handleForm(
  request: DashboardRequest,
  editor: Editor,
  id: number | null,
): Promise<DashboardAnswer> {
  const draft = draftIn(request.form);
  const stored = id === null ? null : await readStored(request, editor, id);
  if (id !== null && stored === null) return removedMeanwhile(request, editor, draft);
  const shown = { stored, secrets: draft.secrets, key: draft.key, version: draft.version };
  const { form } = editor;
  const { path } = draft.intent;
  switch (draft.intent.name) {
    case 'save':
      return saveDraft(request, editor, draft, stored);
    case 'add': {
      const entries = withRow(form, draft.entries, path);
      return showForm(request, editor, { ...shown, entries, focus: newest(draft.entries, entries) });
    }
    case 'remove': {
      const entries = withoutRow(form, draft.entries, path);
      return showForm(request, editor, { ...shown, entries, focus: path.replace(/\.\d+$/, '') });
    }
    case 'secrets': {
      const entries = stored === null ? draft.entries : withSecrets(form, draft.entries, stored.body);
      return showForm(request, editor, { ...shown, entries, secrets: 'shown' });
    }
    case 'find':
      return showForm(request, editor, { ...shown, entries: draft.entries, focus: noteName(path, 'find') });
    case 'other':
      return tryDraft(request, editor, draft, stored);
  }
}

/** Path of the first input that was added; '' if no input was added. */
function newest(before: Entries, after: Entries): string {
  return [...after.keys()].find((path) => !before.has(path)) ?? '';
}

async function saveDraft(
  request: DashboardRequest,
  editor: Editor,
  draft: Draft,
  stored: Stored | null,
): Promise<DashboardAnswer> {
  const { entries, body, shown, wrong } = checkedDraft(editor, draft, stored);
  if (wrong !== null) return showForm(request, editor, { ...shown, messages: wrong, status: 422 });
  const sentBody = editor.toBody?.(body, stored) ?? body;
  const answer = await callSave(request, editor, draft, sentBody, stored);
  const { problem } = answer;
  if (problem === null) {
    const saved = answer.body;
    const wrong = await editor.saved?.(request, saved.id, stored === null);
    const warning = wrong ?? saved.warnings?.[0];
    const done = stored === null ? `The ${editor.noun} was created.` : `The ${editor.noun} was saved.`;
    return {
      redirect: editor.after(saved.id),
      notice: warning === undefined ? done : `${done} Note: ${warning}.`,
    };
  }
  if (problem.status === 412 && stored !== null) {
    return changedMeanwhile(request, editor, { ...draft, entries, id: Number(stored.id) }, body);
  }
  if (problem.code === 'not-found' && stored !== null) {
    return removedMeanwhile(request, editor, { ...draft, entries });
  }
  const messages = messagesOf(editor.form, { entries, body }, problem);
  return showForm(request, editor, { ...shown, messages, status: problem.status });
}

function callSave(
  { api }: DashboardRequest,
  { objects, above }: Editor,
  { key, version }: Draft,
  body: Json,
  stored: Stored | null,
): Promise<Called<Saved>> {
  if (stored === null) {
    return api.call(
      objects.create,
      { ...above },
      { body, headers: { 'idempotency-key': key || randomUUID() } },
    );
  }
  return api.call(objects.replace, { ...above, id: stored.id }, { body, headers: { 'if-match': version } });
}

/**
 * Returns the request body of a draft, the form's next
 * content, and the errors that are found without the API.
 */
function checkedDraft(editor: Editor, draft: Draft, stored: Stored | null) {
  const entries = withoutEmptyRows(editor.form, draft.entries);
  const body = resourceFrom(editor.form, entries, stored?.body ?? null);
  const repeated = repeatedKeys(editor.form, entries);
  const shown = { stored, entries, secrets: draft.secrets, key: draft.key, version: draft.version };
  return { entries, body, shown, wrong: repeated.length === 0 ? null : { fields: repeated, general: [] } };
}

async function tryDraft(
  request: DashboardRequest,
  editor: Editor,
  draft: Draft,
  stored: Stored | null,
): Promise<DashboardAnswer> {
  const { entries, body, shown, wrong } = checkedDraft(editor, draft, stored);
  if (wrong !== null) return showForm(request, editor, { ...shown, messages: wrong, status: 422 });
  if (editor.trial === undefined) return showForm(request, editor, shown);
  const tried = await editor.trial.run(request, body);
  if ('shown' in tried) return showForm(request, editor, { ...shown, notice: tried.shown });
  const messages = messagesOf(editor.form, { entries, body }, tried);
  return showForm(request, editor, { ...shown, messages, status: tried.status });
}

/**
 * Shows the draft, because somebody else saved the resource in the meantime.
 * If the user saves the draft again, it overwrites the stored resource.
 */
async function changedMeanwhile(
  request: DashboardRequest,
  editor: Editor,
  draft: Draft & { readonly id: number },
  body: Json,
): Promise<DashboardAnswer> {
  const stored = await readStored(request, editor, draft.id);
  if (stored === null) return removedMeanwhile(request, editor, draft);
  return showForm(request, editor, {
    stored,
    entries: draft.entries,
    secrets: draft.secrets,
    key: draft.key,
    notice: changedSince(editor, stored, body),
    status: 412,
  });
}

/**
 * Shows the draft, because somebody else removed the resource.
 * If the user saves the draft, it becomes a new resource.
 */
function removedMeanwhile(request: DashboardRequest, editor: Editor, draft: Draft): Promise<DashboardAnswer> {
  const notice = html`<div class="notice notice-warning" role="alert"><p><strong>This ${editor.noun} was removed by somebody else.</strong> Nothing was saved. Your draft is below: save it to create a new ${editor.noun}. Its stored secrets are gone.</p></div>`;
  return showForm(request, editor, {
    stored: null,
    entries: draft.entries,
    secrets: 'shown',
    key: randomUUID(),
    version: '',
    notice,
    status: 404,
  });
}

/**
 * Reads the stored resource; null: it was removed.
 *
 * @throws Problem that the API answered
 */
async function readStored({ api }: DashboardRequest, editor: Editor, id: number): Promise<Stored | null> {
  const called = await api.call(editor.objects.read, { ...editor.above, id });
  if (called.problem === null) return storedIn(editor, called.headers, called.body);
  if (called.status === 404) return null;
  throw called.problem;
}

function storedIn({ toForm }: Editor, { etag: version = '' }: Called['headers'], answered: Answered): Stored {
  return { id: answered.id, body: toForm?.(answered) ?? answered, answered, version };
}

async function showForm(request: DashboardRequest, editor: Editor, shown: Shown): Promise<DashboardAnswer> {
  const { stored, notice = NO_HTML } = shown;
  const { introduction = NO_HTML } = editor;
  const head =
    stored === null ? pageHead(editor.newTitle, { above: [editor.list] }) : headOf(editor, stored.body);
  return {
    title:
      stored === null ? editor.newTitle : (editor.heading ?? `Settings of ${editor.nameOf(stored.body)}`),
    status: shown.status ?? 200,
    styles: [FORM_STYLE, ...(editor.trial?.styles ?? [])],
    body: html`${head}
${introduction}
${notice}
${await filledForm(request, editor, shown)}`,
  };
}

/**
 * The form of a new resource, for a page that also has other content. The page must load {@link FORM_STYLE}.
 */
export function newForm(request: DashboardRequest, editor: Editor): Promise<Html> {
  const entries = newEntries(editor.form, editor.initial);
  return filledForm(request, editor, { stored: null, entries, secrets: 'shown', key: randomUUID() });
}

async function filledForm(request: DashboardRequest, editor: Editor, shown: Shown): Promise<Html> {
  const { stored, entries, messages = NO_MESSAGES, secrets, focus = null, key } = shown;
  const { form, leftOut = [], noun } = editor;
  const references = await referencesFor(request.api, editor, entries, stored?.body ?? null);
  const likely = (await editor.likelyOptions?.(request)) ?? new Map();
  const view = { entries, messages, secrets, isStored: stored !== null, references, likely, focus };
  const action = stored === null ? editor.newPath : editor.editPath(stored.id);
  return formHtml(form, view, {
    action,
    formToken: request.formToken,
    carried: { [VERSION_FIELD]: shown.version ?? stored?.version ?? '', [KEY_FIELD]: key },
    leftOut,
    besides: (await editor.besides?.(request, stored?.id ?? null)) ?? NO_HTML,
    save: stored === null ? (editor.create ?? `Create ${noun}`) : 'Save',
    buttons: editor.trial?.button ?? NO_HTML,
    cancel: editor.after(stored?.id ?? null),
  });
}

/**
 * Explains that somebody else saved the resource after the form was opened, and lists the fields in which the
 * draft differs from the stored resource.
 *
 * @param draft the body that was not saved
 */
function changedSince(
  { form, noun, editPath }: { form: ResourceForm; noun: string; editPath(id: string): string },
  stored: { readonly id: string; readonly body: Json },
  draft: Json,
): Html {
  return html`<div class="notice notice-warning" role="alert">
<p><strong>Somebody else changed this ${noun} after you opened it.</strong> Nothing was saved, and your draft is below. Saving it now replaces what they stored.</p>
${differences(form, stored.body, draft)}
<p><a href="${editPath(stored.id)}">Discard the draft and open what is stored</a></p>
</div>`;
}

function differences(form: ResourceForm, stored: Json, draft: Json): Html {
  const changed = form.fields.filter(
    ({ name }) =>
      !isDeepStrictEqual(stored[name] ?? null, draft[name] ?? null) && !bothEmpty(stored[name], draft[name]),
  );
  if (changed.length === 0) return html`<p>Your draft is the same as what is stored now.</p>`;
  const now = withoutSecrets(form, stored);
  const mine = withoutSecrets(form, draft);
  return html`<table><caption>Where your draft differs</caption>
<thead><tr><th scope="col">Field</th><th scope="col">Stored now</th><th scope="col">Your draft</th></tr></thead>
<tbody>${changed.map((field) => {
    const { name, label, control } = field;
    if (control.type === 'group')
      return html`<tr><th scope="row">${label}</th><td colspan="2">differs</td></tr>`;
    return html`<tr><th scope="row">${label}</th><td>${shortValue(field, now[name])}</td><td>${shortValue(field, mine[name])}</td></tr>`;
  })}</tbody></table>`;
}

/** An empty list and null look the same to people. */
function bothEmpty(one: unknown, other: unknown): boolean {
  const isEmpty = (value: unknown) =>
    (value ?? null) === null || (Array.isArray(value) && value.length === 0);
  return isEmpty(one) && isEmpty(other);
}
