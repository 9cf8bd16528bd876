import type { Clock } from '@svc/shared/clock.ts';
import type { Secret } from '@svc/shared/secret.ts';
import { confirmSubscription, removeRecipient } from '../../store/pages/page-recipients.ts';
import type { Store } from '../../store/store.ts';
import { html } from '../../web/html.ts';
import type { OneTimeLinks } from '../../web/one-time-links.ts';
import { peerKey } from '../../web/peer-key.ts';
import { linkButton, mailAsked, notice, tooMany } from '../access/access-html.ts';
import type { AccessVisit, VisitorRoute } from '../access/access-pages.ts';
import { type FormPlace, formPage } from '../access/answers.ts';
import type { PageGate } from '../access/gate.ts';
import { linkPage } from '../access/link-page.ts';
import { parseMailAddress } from '../access/mail-address.ts';
import type { MailLimits } from '../access/mail-limits.ts';
import { formSeed, visitorForm } from '../access/visitor-forms.ts';
import { fill } from '../text/text.ts';
import { type AskedMails, linkDetailIn, linkPurpose } from './asked-mails.ts';
import { isEntitled } from './entitled.ts';
import { subscribeForm } from './subscriber-html.ts';
import { recipientOfToken } from './unsubscribing.ts';

type Parts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly gate: PageGate;
  readonly links: OneTimeLinks;
  readonly mails: AskedMails;
  readonly limits: MailLimits;
  /** Whether the operator has set how mails are sent. */
  readonly canMail: boolean;
  /** Makes the tokens of unsubscribing, 32 bytes. */
  readonly key: Secret<Uint8Array>;
};

/**
 * The pages on which visitors begin and end subscriptions.
 *
 * | path | |
 * | --- | --- |
 * | `/subscribe` | asks for an address, which gets a mail with a link |
 * | `/subscribe/confirm` | that link: a button, which confirms the subscription |
 * | `/unsubscribe` | the link of every mail of news: a button, which ends the subscription |
 *
 * Whoever may not read a page may not subscribe to it either. The links in mails work without that: who holds one gets
 * the mails.
 */
export class SubscriberPages {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** What only those who may read a page can do. */
  readonly forReaders: readonly VisitorRoute[] = [
    { method: 'GET', path: '/subscribe', answer: async (at) => this.#form(at, null, 200) },
    { method: 'POST', path: '/subscribe', answer: (at) => this.#subscribe(at) },
  ];

  /** The links in mails, for whoever holds them. */
  readonly forHolders: readonly VisitorRoute[] = [
    { method: 'GET', path: '/subscribe/confirm', answer: async (at) => this.#showConfirm(at) },
    { method: 'POST', path: '/subscribe/confirm', answer: (at) => this.#confirm(at) },
  ];

  /**
   * The link that ends a subscription. It needs no page but the one to show it on. Programs of mail send the form by
   * themselves (RFC 8058), from another place and without a cookie, so its token alone counts.
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

  /** The answer is the same for every address, and comes before anything is done about it. */
  async #subscribe(at: AccessVisit): Promise<Response> {
    const { visit, page, place } = at;
    const { access, subscription } = place.words.text;
    const { mails, limits, clock, canMail } = this.#parts;
    const form = await visitorForm(visit);
    if (typeof form === 'number') return this.#form(at, access.oldForm, form);
    if (!canMail) return this.#form(at, null, 503);
    const address = parseMailAddress(form.text('address'));
    if (address === null) return this.#form(at, access.notAddress, 400);
    const waitMs = limits.takeOf(peerKey(visit.peer), clock.monotonic());
    if (waitMs > 0) return this.#form(at, tooMany(place, waitMs), 429, waitMs);
    const credential = await this.#parts.gate.credentialOf(page);
    if (credential !== null)
      mails.ask({ kind: 'subscribe', credential, pageId: page.id, address, words: place.words });
    const sentence = fill(subscription.asked, { address: address.address });
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
    const taken = typeof form === 'number' ? null : await links.take(form.text('token'));
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
      fill(subscription.confirmed, { address: confirmed.address }),
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
