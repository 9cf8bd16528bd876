import { type Html, html } from '../../web/html.ts';
import { type FormState, mailForm } from '../access/access-html.ts';
import type { FormPlace } from '../access/answers.ts';

/** The form that asks who wants the news of a page, and the feeds, which need no address. */
export function subscribeForm(place: FormPlace, state: FormState, canMail: boolean): Html {
  const { subscription } = place.words.text;
  const home = place.path === '' ? '/' : place.path;
  const feeds = [
    ['Atom', 'feed.atom'],
    ['RSS', 'feed.rss'],
    ['JSON', 'feed.json'],
  ];
  const byMail = html`<section class="stack" aria-labelledby="by-mail"><h2 id="by-mail">${subscription.byMail}</h2>
<p class="soft">${subscription.intro}</p>
${mailForm(place, state, { action: '/subscribe', button: subscription.send })}</section>
`;
  return html`<main id="content" class="stack-large"><h1>${subscription.title}</h1>
${canMail ? byMail : html``}<section class="stack" aria-labelledby="by-feed"><h2 id="by-feed">${subscription.byFeed}</h2>
<p class="soft">${subscription.feedIntro}</p>
<ul class="plain-list row">${feeds.map(([name, file]) => html`<li><a href="${place.path}/${file}">${name}</a></li>`)}</ul></section>
<p><a href="${home}">${subscription.toPage}</a></p></main>`;
}
