import type { Clock } from '@svc/shared/clock.ts';
import type { Secret } from '@svc/shared/secret.ts';
import { findRecipient } from '../../store/pages/page-recipients.ts';
import type { Store } from '../../store/store.ts';
import type { Form } from '../../web/forms.ts';
import type { OneTimeLinks } from '../../web/one-time-links.ts';
import { peerKey, type Visit } from '../../web/site.ts';
import { linkDetailIn, linkPurpose, type RequestedMails } from '../subscribers/requested-mails.ts';
import { fillIn } from '../text/texts.ts';
import { credentialVersion, type PageAccess } from './credential.ts';
import type { GuardedPage, PageGate } from './gate.ts';
import { isOfDomains, parseMailAddress } from './mail-address.ts';
import {
  addressForm,
  type FormPlace,
  formPage,
  formSeed,
  linkPage,
  mailAsked,
  notice,
  passwordForm,
  seeOther,
  tooManyText,
  visitorForm,
} from './visitor-forms.ts';
import type { MailLimits } from './visitor-limits.ts';

export type AccessParts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly gate: PageGate;
  readonly links: OneTimeLinks;
  readonly mails: RequestedMails;
  readonly limits: MailLimits;
  /** Key of the versions of credentials, 32 bytes. */
  readonly key: Secret<Uint8Array>;
  /** Whether the operator has set up mail. */
  readonly canMail: boolean;
};

/** A visitor's request to a form of a status page. */
export type AccessVisit = {
  readonly visit: Visit;
  readonly page: GuardedPage;
  readonly place: FormPlace;
};

/** A form below a status page, or the answer to that form. */
export type VisitorRoute = {
  readonly method: 'GET' | 'POST';
  /** Path of the form below the page. */
  readonly path: string;
  /**
   * Answers a request to the form.
   *
   * @throws StoreError
   */
  answer(at: AccessVisit): Promise<Response>;
};

/**
 * The forms with which visitors sign in and out.
 *
 * | path | |
 * | --- | --- |
 * | `/access` | asks for the password, or for a mail address to which svc sends a link |
 * | `/access/link` | the target of the mailed link: a button that opens a session |
 * | `/access/leave` | a button that ends the session |
 */
export class AccessPages {
  readonly #parts: AccessParts;

  constructor(parts: AccessParts) {
    this.#parts = parts;
  }

  readonly routes: readonly VisitorRoute[] = [
    { method: 'GET', path: '/access', answer: (at) => this.#showAccessForm(at) },
    { method: 'POST', path: '/access', answer: (at) => this.#handleAccessForm(at) },
    { method: 'GET', path: '/access/link', answer: async (at) => this.#showLink(at) },
    { method: 'POST', path: '/access/link', answer: (at) => this.#openByLink(at) },
    { method: 'GET', path: '/access/leave', answer: async (at) => this.#showLeave(at) },
    { method: 'POST', path: '/access/leave', answer: (at) => this.#signOut(at) },
  ];

  async #showAccessForm(at: AccessVisit): Promise<Response> {
    const { visit, page, place } = at;
    const to = visit.url.searchParams.get('to') ?? '';
    const access = await this.#parts.gate.accessOf(page);
    const admission = await this.#parts.gate.admitVisitor(page, visit);
    if (access === null || admission.is === 'admitted') {
      return seeOther(landingPath(place.path, to));
    }
    return this.#accessForm(at, access, { to, error: null }, 200);
  }

  async #handleAccessForm(at: AccessVisit): Promise<Response> {
    const { visit, page, place } = at;
    const access = await this.#parts.gate.accessOf(page);
    if (access === null || access.type === 'public') return seeOther(landingPath(place.path, ''));
    const form = await visitorForm(visit);
    if (typeof form === 'number') {
      return this.#accessForm(at, access, { to: '', error: place.words.text.access.oldForm }, form);
    }
    return access.type === 'password'
      ? this.#checkPassword(at, access, form)
      : this.#sendLink(at, access, form);
  }

  async #checkPassword(
    at: AccessVisit,
    access: Extract<PageAccess, { type: 'password' }>,
    form: Form,
  ): Promise<Response> {
    const { visit, page, place } = at;
    const to = form.text('to');
    const guess = this.#parts.gate.tryPassword(page.id, access.password, visit, form.text('password'));
    switch (guess.is) {
      case 'right':
        return seeOther(landingPath(place.path, to), [await this.#parts.gate.signIn(page, access, visit)]);
      case 'wrong':
        return this.#accessForm(at, access, { to, error: place.words.text.access.wrongPassword }, 403);
      case 'early':
        return this.#accessForm(
          at,
          access,
          { to, error: tooManyText(place, guess.waitMs) },
          429,
          guess.waitMs,
        );
      default:
        return guess satisfies never;
    }
  }

  /**
   * Requests a mail with a link, and answers without waiting for
   * the mail. The answer is the same for every valid mail address.
   */
  async #sendLink(
    at: AccessVisit,
    access: Extract<PageAccess, { type: 'email-domain' }>,
    form: Form,
  ): Promise<Response> {
    const { visit, page, place } = at;
    const { access: texts } = place.words.text;
    const to = form.text('to');
    const { mails, limits, clock, canMail } = this.#parts;
    if (!canMail) return this.#accessForm(at, access, { to, error: texts.noMail }, 503);
    const address = parseMailAddress(form.text('address'));
    if (address === null) return this.#accessForm(at, access, { to, error: texts.notAddress }, 400);
    const waitMs = limits.countRequest(peerKey(visit.peer), clock.monotonic());
    if (waitMs > 0)
      return this.#accessForm(at, access, { to, error: tooManyText(place, waitMs) }, 429, waitMs);
    if (isOfDomains(address, access.domains)) {
      const credential = credentialVersion(this.#parts.key, page.id, access);
      mails.requestMail({ kind: 'sign-in', credential, pageId: page.id, address, words: place.words });
    }
    const sentence = fillIn(texts.linkSent, { address: address.address });
    return formPage(place, { title: texts.sentTitle, body: mailAsked(place, sentence, '/access') });
  }

  #showLink({ visit, place }: AccessVisit): Response {
    const { linkTitle: title, linkIntro: intro, open: button } = place.words.text.access;
    return linkPage(visit, place, { title, intro, button, action: '/access/link' });
  }

  async #openByLink(at: AccessVisit): Promise<Response> {
    const { visit, page, place } = at;
    const form = await visitorForm(visit);
    if (typeof form === 'number') return this.#linkRefused(at, form);
    const access = await this.#parts.gate.accessOf(page);
    if (access?.type !== 'email-domain') return this.#linkRefused(at, 403);
    const taken = await this.#parts.links.useLink(form.text('token'));
    if (taken === null || taken.purpose !== linkPurpose('sign-in', page.id))
      return this.#linkRefused(at, 403);
    const recipient = await findRecipient(this.#parts.store, linkDetailIn(taken.detail).recipientId);
    const address = recipient === null ? null : parseMailAddress(recipient.address);
    // The page may have other mail domains now than when the mail was sent.
    if (address === null || !isOfDomains(address, access.domains)) return this.#linkRefused(at, 403);
    return seeOther(landingPath(place.path, ''), [await this.#parts.gate.signIn(page, access, visit)]);
  }

  #linkRefused({ place }: AccessVisit, status: number): Response {
    const { access } = place.words.text;
    const body = notice({
      title: access.linkUsedTitle,
      sentence: access.linkUsed,
      href: `${place.path}/access`,
      link: access.again,
    });
    return formPage(place, { title: access.linkUsedTitle, body, status });
  }

  #showLeave({ visit, place }: AccessVisit): Response {
    const { leaveTitle: title, leaveIntro: intro, leave: button } = place.words.text.access;
    return linkPage(visit, place, { title, intro, button, action: '/access/leave' });
  }

  async #signOut({ visit, page, place }: AccessVisit): Promise<Response> {
    const form = await visitorForm(visit);
    if (typeof form === 'number') return seeOther(landingPath(place.path, ''));
    return seeOther(`${place.path}/access`, [await this.#parts.gate.signOut(page, visit)]);
  }

  #accessForm(
    { visit, place }: AccessVisit,
    access: PageAccess,
    { to, error }: { readonly to: string; readonly error: string | null },
    status: number,
    waitMs?: number,
  ): Response {
    const seed = formSeed(visit);
    const { text } = place.words;
    const state = { token: seed.field, to, error };
    const noMail = access.type === 'email-domain' && !this.#parts.canMail;
    const body = noMail
      ? notice({
          title: text.access.title,
          sentence: text.access.noMail,
          href: `${place.path}/access`,
          link: text.access.again,
        })
      : access.type === 'password'
        ? passwordForm(place, state)
        : addressForm(place, state);
    return formPage(place, {
      title: text.access.title,
      body,
      status,
      cookies: [seed.cookie],
      ...(waitMs === undefined ? {} : { retryAfterS: Math.ceil(waitMs / 1_000) }),
    });
  }
}

/**
 * Paths below a page to which a visitor may return: up to 6 segments
 * of letters, digits, `_` and `-`, each with an optional extension.
 */
const BELOW = /^(?:\/[A-Za-z0-9_-]+(?:\.[A-Za-z0-9]+)?){1,6}$/;

/**
 * Returns the path to which a visitor returns after signing in. It is
 * `asked` if `asked` is a path below the page other than the access forms.
 * Otherwise it is the page itself. The result is always a path on this host.
 *
 * @param pagePath `/status/main`, or '' on the page's own domain
 * @param asked the path below the page that the visitor requested first; untrusted input
 */
export function landingPath(pagePath: string, asked: string): string {
  if (BELOW.test(asked) && !asked.startsWith('/access')) return `${pagePath}${asked}`;
  return pagePath === '' ? '/' : pagePath;
}
