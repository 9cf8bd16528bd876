import { MASK } from '@svc/shared/secret.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import type { Entries } from './entries.ts';
import type { ResourceForm } from './fields.ts';
import { elementId, type FormView } from './form-view.ts';
import type { Messages } from './messages.ts';
import { fieldHtml } from './render-field.ts';
import { type Section, sectionsOf } from './sections.ts';

/** What a form needs of its page. */
export type FormFrame = {
  /** Path that the form is sent to. */
  readonly action: string;
  /** The hidden field of the session. */
  readonly formToken: Html;
  /** Fields that the form carries along: the version that was read, the key of a creation. */
  readonly carried: Readonly<Record<string, string>>;
  /** Names of attributes that the page sets: they have no field. */
  readonly leftOut: readonly string[];
  /** Text of the button that saves. */
  readonly save: string;
  /** Further buttons beside it. */
  readonly buttons: Html;
  /** Where a visitor goes who does not save. */
  readonly cancel: string;
};

/** A form with its sections, messages and buttons. */
export function formHtml(form: ResourceForm, view: FormView, frame: FormFrame): Html {
  const fields = shownFields(form, view.entries, frame.leftOut);
  return html`${summary(view.messages)}
<form class="form resource-form" method="post" action="${frame.action}" novalidate>
${frame.formToken}
<button class="unseen" name="intent" value="save" tabindex="-1" aria-hidden="true">${frame.save}</button>
${Object.entries(frame.carried).map(
  ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
)}
${form.hasSections ? sectionsOf({ fields }).map((section, index) => sectionHtml(view, section, index)) : fields.map((field) => fieldHtml(view, field, field.name))}
${secretsLine(view)}
<div class="row form-actions"><button class="button-main" name="intent" value="save">${frame.save}</button>
${frame.buttons}<a class="button button-quiet" href="${frame.cancel}">Cancel</a></div>
</form>`;
}

function sectionHtml(view: FormView, { title, fields }: Section, index: number): Html {
  return html`<section class="form-section" aria-labelledby="section-${index}">
<h2 id="section-${index}">${title}</h2>
${fields.map((field) => fieldHtml(view, field, field.name))}
</section>`;
}

/** The fields of the page, without the groups that were not chosen where one is to be chosen. */
function shownFields({ fields, chooser }: ResourceForm, entries: Entries, leftOut: readonly string[]) {
  const chosen = chooser === null ? null : entries.get(chooser)?.[0];
  return fields.filter(
    ({ name, control }) =>
      !leftOut.includes(name) && (control.type !== 'group' || chosen === null || name === chosen),
  );
}

/** All messages at the top, each with a link to its field. */
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

/** What is hidden, and the button that shows it. */
function secretsLine({ entries, secrets }: FormView): Html {
  if (secrets === 'shown') return html`<input type="hidden" name="secrets" value="shown">`;
  const isHidden = [...entries].some(
    ([name, values]) => name.endsWith('~stored') || values.some((value) => value.includes(MASK)),
  );
  if (!isHidden) return NO_HTML;
  return html`<p class="hint">Stored secrets are not shown, or are shown as <code>${MASK}</code>. They stay as they are while you leave their fields alone.
<button class="button-quiet" name="intent" value="secrets">Show stored secrets</button></p>`;
}
