import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { Secret } from '@svc/shared/secret.ts';
import type { Reading } from '../declaration/reading.ts';
import type { StoredPage } from '../declaration/stored.ts';
import type { NewlyQueued } from '../store/alerts/delivery-queue.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import type { Store } from '../store/store.ts';
import { pageHeaders } from '../web/headers.ts';
import { OneTimeLinks } from '../web/one-time-links.ts';
import { Sessions } from '../web/sessions.ts';
import type { Site, Visit } from '../web/site.ts';
import { AccessPages, type AccessVisit, type VisitorRoute } from './access/access-pages.ts';
import { type Admission, PageGate } from './access/gate.ts';
import { type FormPlace, seeOther } from './access/visitor-forms.ts';
import { MailLimits } from './access/visitor-limits.ts';
import { documentAt } from './documents.ts';
import { ICON_PATH, iconAnswer } from './icons/icon-page.ts';
import type { Place } from './place.ts';
import { unavailable } from './plain-answers.ts';
import type { MayRead, PageRoute } from './status-page-site.ts';
import { RequestedMails } from './subscribers/requested-mails.ts';
import { SubscriberPages } from './subscribers/subscriber-pages.ts';
import { languageOf } from './text/texts.ts';
import { wordsOf } from './words.ts';

export type VisitorsParts = {
  readonly store: Store;
  readonly secrets: Secrets;
  readonly reading: Reading;
  readonly clock: Clock;
  readonly log: Logger;
  readonly publicUrl: string;
  /** Key with which svc makes versions of credentials and tokens of links, 32 bytes. */
  readonly key: Secret<Uint8Array>;
  /** Whether the operator has set up mail. */
  readonly canMail: boolean;
  /** Called after a mail is queued, so that the mail is delivered at once. */
  readonly onQueued: (queued: NewlyQueued) => void;
};

/** The parts of status pages that deal with single visitors: access, subscriptions and icons. */
export type Visitors = {
  readonly mayRead: MayRead;
  /** The forms and the icon below every status page. */
  readonly routes: readonly PageRoute[];
  /**
   * Serves the links that end subscriptions. The server must try this site before the
   * status pages, because a link works even after its page was renamed or removed.
   */
  readonly unsubscribing: Site;
  /** Resolves when every mail that visitors requested is queued or has failed. */
  mailsQueued(): Promise<void>;
};

export function createVisitors(parts: VisitorsParts): Visitors {
  const { store, clock } = parts;
  const links = new OneTimeLinks({ store, clock });
  const limits = new MailLimits();
  const mails = new RequestedMails({ ...parts, limits });
  const gate = new PageGate({ ...parts, sessions: new Sessions({ store, clock }) });
  const given = { ...parts, gate, links, mails, limits };
  const access = new AccessPages(given);
  const subscribers = new SubscriberPages(given);
  const mayRead: MayRead = async (page, visit, place) => {
    if (page.attributes.access_type === 'public') return null;
    const admission = await gate.admitVisitor(page, visit);
    return admission.is === 'admitted' ? null : refusal(place, visit.url.pathname, admission);
  };
  const forReaders = subscribers.forReaders.map((route) => ({
    ...route,
    answer: async (at: AccessVisit) => {
      const admission = await gate.admitVisitor(at.page, at.visit);
      return admission.is === 'admitted'
        ? route.answer(at)
        : refusal(at.place, at.visit.url.pathname, admission);
    },
  }));
  const icon: PageRoute = {
    method: 'GET',
    path: ICON_PATH,
    handle: async (page, visit, place) =>
      (await mayRead(page, visit, place)) ?? iconAnswer(store, page, visit),
  };
  return {
    mayRead,
    routes: [...[...access.routes, ...forReaders, ...subscribers.forHolders].map(pageRoute), icon],
    unsubscribing: { answer: (visit) => unsubscribe(visit, subscribers, parts.log) },
    mailsQueued: () => mails.mailsQueued(),
  };
}

function pageRoute({ method, path, answer }: VisitorRoute): PageRoute {
  return {
    method,
    path,
    handle: (page: StoredPage, visit: Visit, { path, words }: Place) =>
      answer({ visit, page, place: { path, words, theme: page.theme } }),
  };
}

async function unsubscribe(
  visit: Visit,
  subscribers: SubscriberPages,
  log: Logger,
): Promise<Response | null> {
  const { method, url, isOwnHost, request } = visit;
  const base = isOwnHost ? /^(\/status\/[a-z0-9-]{1,256})\/unsubscribe$/ : /^()\/unsubscribe$/;
  const path = base.exec(url.pathname)?.[1];
  if (path === undefined || (method !== 'GET' && method !== 'POST')) return null;
  const accepted = request.headers.get('accept-language') ?? undefined;
  const words = wordsOf(languageOf(url.searchParams.get('lang'), accepted));
  const place: FormPlace = { path, words, theme: 'system' };
  try {
    return await subscribers.unsubscribe({ visit, place });
  } catch (error) {
    log.error({ error: messageOf(error), requestId: visit.requestId }, 'ending a subscription failed');
    return unavailable(visit);
  }
}

/**
 * Makes the answer to a visitor who may not read a page. Programs that request a document
 * for programs, and visitors who must wait, get a status code. On all other paths visitors
 * are sent to the login form, so the answer does not show which components exist.
 *
 * @param pathname path of the request
 */
function refusal(
  { path }: Pick<Place, 'path'>,
  pathname: string,
  { access, waitMs }: Extract<Admission, { is: 'refused' }>,
): Response {
  const below = pathname.slice(path.length);
  if (waitMs === 0 && documentAt(below)?.kind !== 'data') {
    const to = below === '' || below === '/' ? '' : `?to=${encodeURIComponent(below)}`;
    return seeOther(`${path}/access${to}`);
  }
  const headers = new Headers(pageHeaders({ cacheControl: 'private, no-store' }));
  headers.set('content-type', 'text/plain; charset=utf-8');
  headers.set('x-robots-tag', 'noindex');
  if (waitMs > 0) headers.set('retry-after', String(Math.ceil(waitMs / 1_000)));
  // Because of this header, feed readers show their usual dialog for a password.
  else if (access?.type === 'password')
    headers.set('www-authenticate', 'Basic realm="status page", charset="UTF-8"');
  return new Response('This status page is private.\n', { status: waitMs > 0 ? 429 : 401, headers });
}
