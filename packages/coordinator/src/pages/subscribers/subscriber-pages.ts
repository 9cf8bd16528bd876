import type { Clock } from '@svc/shared/clock.ts';
import type { Secret } from '@svc/shared/secret.ts';
import { confirmSubscription, removeRecipient } from '../../store/pages/page-recipients.ts';
import type { Store } from '../../store/store.ts';
import { type Html, html } from '../../web/html.ts';
import type { OneTimeLinks } from '../../web/one-time-links.ts';
import { peerKey } from '../../web/site.ts';
import type { AccessVisit, VisitorRoute } from '../access/access-pages.ts';
import { isEntitled } from '../access/credential.ts';
import type { PageGate } from '../access/gate.ts';
import { parseMailAddress } from '../access/mail-address.ts';
import {
  type FormPlace,
  type FormState,
  formPage,
  formSeed,
  linkButton,
  linkPage,
  mailAsked,
  mailForm,
  notice,
  tooManyText,
  visitorForm,
} from '../access/visitor-forms.ts';
import type { MailLimits } from '../access/visitor-limits.ts';
import { fillIn } from '../text/texts.ts';
import { recipientOfToken } from './mail-links.ts';
import { linkDetailIn, linkPurpose, type RequestedMails } from './requested-mails.ts';

type Parts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly gate: PageGate;
  readonly links: OneTimeLinks;
  readonly mails: RequestedMails;
  readonly limits: MailLimits;
  /** Whether the operator has set up mail. */
  readonly canMail: boolean;
  /** Key of the tokens that end subscriptions, 32 bytes. */
  readonly key: Secret<Uint8Array>;
};

/**
 * The pages on which visitors begin and end subscriptions.
 *
 * | path | |
 * | --- | --- |
 * | `/subscribe` | asks for a mail address, to which svc sends a link |
 * | `/subscribe/confirm` | the target of the mailed link: a button that confirms the subscription |
 * | `/unsubscribe` | the link in every mail with news: a button that ends the subscription |
 *
 * Only visitors who may read a page may subscribe to it. The links in mails work
 * without a session, because only the owner of the address has them. A link that
 * confirms is refused if the owner may no longer get news of the page.
 */
export class SubscriberPages {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Forms that are only for visitors who may read the page. */
  readonly forReaders: readonly VisitorRoute[] = [
    { method: 'GET', path: '/subscribe', answer: async (at) => this.#form(at, null, 200) },
    { method: 'POST', path: '/subscribe', answer: (at) => this.#subscribe(at) },
  ];

  /** The targets of links in mails. Everybody who has such a link may open them. */
  readonly forHolders: readonly VisitorRoute[] = [
    { method: 'GET', path: '/subscribe/confirm', answer: async (at) => this.#showConfirm(at) },
    { method: 'POST', path: '/subscribe/confirm', answer: (at) => this.#confirm(at) },
  ];

  /**
   * Serves the link that ends a subscription, even if the page no longer exists. Mail programs send the
   * form themselves (RFC 8058), from another origin and without a cookie. So only the token is checked.
   */
  async unsubscribe({ visit, place }: Pick<AccessVisit, 'visit' | 'place'>): Promise<Response> {
    const { subscription } = place.words.text;
    const token = visit.url.searchParams.get('token') ?? '';
    const recipientId = recipientOfToken(this.#parts.key, token);
    if (recipientId === null) {
      return this.#notice(place, subscription.badLinkTitle, subscription.badLink, 404);
    }
    if (visit.method !== 'POST') {
      const body = linkButton(place, {
        title: subscription.endTitle,
        intro: subscription.endIntro,
        button: subscription.end,
        action: `/unsubscribe?token=${encodeURIComponent(token)}`,
        fields: html``,
      });
      return formPage(place, { title: subscription.endTitle, body });
    }
    await this.#parts.store.transaction((tx) => removeRecipient(tx, { id: recipientId }));
    return this.#notice(place, subscription.endedTitle, subscription.ended, 200);
  }

  /**
   * Requests a mail with a link, and answers without waiting for
   * the mail. The answer is the same for every valid mail address.
   */
  async #subscribe(at: AccessVisit): Promise<Response> {
    const { visit, page, place } = at;
    const { access, subscription } = place.words.text;
    const { mails, limits, clock, canMail } = this.#parts;
    const form = await visitorForm(visit);
    if (typeof form === 'number') return this.#form(at, access.oldForm, form);
    if (!canMail) return this.#form(at, null, 503);
    const address = parseMailAddress(form.text('address'));
    if (address === null) return this.#form(at, access.notAddress, 400);
    const waitMs = limits.countRequest(peerKey(visit.peer), clock.monotonic());
    if (waitMs > 0) return this.#form(at, tooManyText(place, waitMs), 429, waitMs);
    const credential = await this.#parts.gate.credentialOf(page);
    if (credential !== null)
      mails.requestMail({ kind: 'subscribe', credential, pageId: page.id, address, words: place.words });
    const sentence = fillIn(subscription.asked, { address: address.address });
    return formPage(place, { title: access.sentTitle, body: mailAsked(place, sentence, '/subscribe') });
  }

  #showConfirm({ visit, place }: AccessVisit): Response {
    const { confirmTitle: title, confirmIntro: intro, confirm: button } = place.words.text.subscription;
    return linkPage(visit, place, { title, intro, button, action: '/subscribe/confirm' });
  }

  async #confirm({ visit, page, place }: AccessVisit): Promise<Response> {
    const { subscription } = place.words.text;
    const { store, links, clock, gate, key } = this.#parts;
    const form = await visitorForm(visit);
    const taken = typeof form === 'number' ? null : await links.useLink(form.text('token'));
    if (taken === null || taken.purpose !== linkPurpose('subscribe', page.id)) {
      return this.#notice(place, subscription.badLinkTitle, subscription.oldLink, 403);
    }
    const { recipientId: id, credential } = linkDetailIn(taken.detail);
    const confirmed = await store.transaction((tx) =>
      confirmSubscription(tx, { id, pageId: page.id, credential }, clock.wall()),
    );
    const access = await gate.accessOf(page);
    const isLate =
      access === null || confirmed === null || !isEntitled({ id: page.id, access }, key, confirmed);
    if (isLate) return this.#notice(place, subscription.badLinkTitle, subscription.oldLink, 403);
    return this.#notice(
      place,
      subscription.confirmedTitle,
      fillIn(subscription.confirmed, { address: confirmed.address }),
      200,
    );
  }

  #notice(place: FormPlace, title: string, sentence: string, status: number): Response {
    const href = place.path === '' ? '/' : place.path;
    const body = notice({ title, sentence, href, link: place.words.text.subscription.toPage });
    return formPage(place, { title, body, status });
  }

  #form(at: AccessVisit, error: string | null, status: number, waitMs?: number): Response {
    const { visit, place } = at;
    const { subscription } = place.words.text;
    const seed = formSeed(visit);
    const state = { token: seed.field, to: '', error };
    return formPage(place, {
      title: subscription.title,
      body: subscribeForm(place, state, this.#parts.canMail),
      status,
      cookies: [seed.cookie],
      ...(waitMs === undefined ? {} : { retryAfterS: Math.ceil(waitMs / 1_000) }),
    });
  }
}

/**
 * Makes the form that subscribes an address to the news of a
 * page. It also links to the feeds, which need no address.
 */
function subscribeForm(place: FormPlace, state: FormState, canMail: boolean): Html {
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
