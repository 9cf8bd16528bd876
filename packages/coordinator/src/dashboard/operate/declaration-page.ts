import { type DeclarationView, declarationState } from '../../api/routes/declaration.ts';
import { type State, stateLabel } from '../../web/design/states.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { age, instant } from '../../web/times.ts';
import type { DashboardPage } from '../dashboard-page.ts';
import { pageHead } from '../page-parts.ts';

/** The page about the declared file. It shows whether the file is applied, and the errors in the file. */
export const declarationPage: DashboardPage = {
  method: 'GET',
  path: '/declaration',
  scope: 'read',
  navigation: { label: 'Declared file', group: 'Operate' },
  async handle({ api, now }) {
    const view = await api.read(declarationState, {});
    return { title: 'Declared file', body: html`${pageHead('Declared file')}${content(view, now)}` };
  },
};

const SHOWN: Readonly<
  Record<DeclarationView['state'], { readonly state: State; readonly word: string; readonly meaning: string }>
> = {
  none: { state: 'unknown', word: 'No file', meaning: '' },
  unread: {
    state: 'unknown',
    word: 'Not read yet',
    meaning: 'This coordinator has not read the file: it has just started, or another one leads.',
  },
  applied: {
    state: 'operational',
    word: 'Applied',
    meaning: 'Its monitors, channels and pages are in effect. The file is read again when it changes.',
  },
  refused: {
    state: 'down',
    word: 'Refused',
    meaning: 'The file has errors, and nothing was changed. The last applied declaration stays in effect.',
  },
  waiting: {
    state: 'degraded',
    word: 'Waiting',
    meaning: 'The file is valid, but the database does not accept it now.',
  },
};

function content(view: DeclarationView, now: number): Html {
  if (view.state === 'none') return none();
  const { state, word, meaning } = SHOWN[view.state];
  const { waiting } = view;
  return html`<p>${stateLabel(state, word)} <span>${meaning}</span></p>
${waiting === null ? NO_HTML : html`<p class="notice notice-warning">${waiting.reason}. It was tried ${waiting.tries} times; the next try is at ${instant(waiting.next_at)}.</p>`}
${places('Errors', view.errors, view.error_count)}
<dl class="facts"><dt>File</dt><dd><code>${view.file ?? '–'}</code></dd>
<dt>Last applied</dt><dd>${view.applied_at === null ? 'not since the start' : html`${instant(view.applied_at)} (${age(view.applied_at, now)})`}</dd>
<dt>Entries</dt><dd>${view.resources}</dd>
<dt>SHA-256</dt><dd><code>${view.digest ?? '–'}</code></dd></dl>
${places('Without effect', view.warnings, view.warning_count)}`;
}

function none(): Html {
  return html`<div class="empty"><p>No file declares this workspace: everything is set here, over the API or with Terraform.</p>
<p class="soft">To keep monitors, channels and pages in a file, set <code>SVC_CONFIG</code> to its path and start svc again. <code>npm run svc -- export</code> writes the current configuration as such a file.</p></div>`;
}

function places(title: string, shown: DeclarationView['errors'], count: number): Html {
  if (count === 0) return NO_HTML;
  const more = count - shown.length;
  return html`<section class="stack"><h2>${title}</h2>
<div class="table-frame" role="region" tabindex="0" aria-label="${title}"><table><thead><tr><th scope="col">Place</th><th scope="col">Message</th></tr></thead>
<tbody>${shown.map(
    ({ file, line, column, message }) =>
      html`<tr><td><code>${file}:${line}:${column}</code></td><td>${message}</td></tr>`,
  )}</tbody></table></div>${more > 0 ? html`<p class="hint">and ${more} more</p>` : NO_HTML}</section>`;
}
