import { isDeepStrictEqual } from 'node:util';
import { type Html, html } from '../../web/html.ts';
import type { ResourceForm } from '../forms/fields.ts';
import { shortValue, withoutSecrets } from './facts.ts';

type Json = Readonly<Record<string, unknown>>;

/**
 * Explains that somebody else saved the resource after the form was opened, with the fields in which the draft differs
 * from what is stored now.
 *
 * @param draft the body that was not saved
 */
export function changedSince(
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

/** An empty list and none are the same to people. */
function bothEmpty(one: unknown, other: unknown): boolean {
  const isEmpty = (value: unknown) =>
    (value ?? null) === null || (Array.isArray(value) && value.length === 0);
  return isEmpty(one) && isEmpty(other);
}
