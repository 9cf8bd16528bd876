import { html } from '../../web/html.ts';
import { marked } from '../forms/help.ts';
import type { DashboardAnswer } from '../page.ts';
import { pageHead } from '../page-head.ts';
import { FORM_STYLE } from './style.ts';

type KindChoice = {
  readonly title: string;
  readonly question: string;
  readonly kinds: readonly {
    readonly href: string;
    readonly label: string;
    readonly help: string;
    /** Its name in declarations. */
    readonly name: string;
  }[];
  readonly cancel: string;
};

/** The page before a form that there are several of: one link for each kind. */
export function kindChoice({ title, question, kinds, cancel }: KindChoice): DashboardAnswer {
  return {
    title,
    styles: [FORM_STYLE],
    body: html`${pageHead(title)}
<p class="soft">${question}</p>
<ul class="plain-list kinds">${kinds.map(
      ({ href, label, help, name }) =>
        html`<li><a href="${href}">${label}</a> <code class="soft">${name}</code>${
          help === '' ? '' : html`<p class="hint">${marked(help)}</p>`
        }</li>`,
    )}</ul>
<p><a href="${cancel}">Cancel</a></p>`,
  };
}
