import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { Secret } from '@svc/shared/secret.ts';
import type { Reading } from '../declaration/reading.ts';
import type { StoredPage } from '../declaration/stored.ts';
import type { NewlyQueued } from '../store/alerts/delivery-queue.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import type { Store } from '../store/store.ts';
import { OneTimeLinks } from '../web/one-time-links.ts';
import { Sessions } from '../web/sessions.ts';
import type { Site, Visit } from '../web/site.ts';
import { AccessPages, type AccessVisit, type VisitorRoute } from './access/access-pages.ts';
import type { FormPlace } from './access/answers.ts';
import { PageGate } from './access/gate.ts';
import { MailLimits } from './access/mail-limits.ts';
import { refusal } from './access/refusal.ts';
import { ICON_PATH, iconAnswer } from './icons/icon-page.ts';
import type { MayRead } from './may-read.ts';
import type { Place } from './place.ts';
import { unavailable } from './plain-answers.ts';
import type { PageRoute } from './status-pages.ts';
import { AskedMails } from './subscribers/asked-mails.ts';
import { SubscriberPages } from './subscribers/subscriber-pages.ts';
import { languageOf } from './text/languages.ts';
import { wordsOf } from './words.ts';

export type VisitorsParts = {
  readonly store: Store;
  readonly secrets: Secrets;
  readonly reading: Reading;
  readonly clock: Clock;
  readonly log: Logger;
  readonly publicUrl: string;
  /** Makes versions of credentials and tokens of links, 32 bytes. */
  readonly key: Secret<Uint8Array>;
  /** Whether the operator has set how mails are sent. */
  readonly canMail: boolean;
  /** A mail was queued: whoever delivers may send it. */
  readonly onQueued: (queued: NewlyQueued) => void;
};

/** What status pages have for their visitors beside what they show. */
export type Visitors = {
  readonly mayRead: MayRead;
  /** Pages of forms below every status page. */
  readonly routes: readonly PageRoute[];
  /** The links that end subscriptions. They work whatever became of the page's name, so they are asked for first. */
  readonly unsubscribing: Site;
  /** Resolves when every mail that visitors asked for is queued. */
  settled(): Promise<void>;
};

export function createVisitors(parts: VisitorsParts): Visitors {
  const { store, clock } = parts;
  const links = new OneTimeLinks({ store, clock });
  const limits = new MailLimits();
  const mails = new AskedMails({ ...parts, limits });
  const gate = new PageGate({ ...parts, sessions: new Sessions({ store, clock }) });
  const given = { ...parts, gate, links, mails, limits };
  const access = new AccessPages(given);
  const subscribers = new SubscriberPages(given);
  const mayRead: MayRead = async (page, visit, place) => {
    if (page.attributes.access_type === 'public') return null;
    const look = await gate.look(page, visit);
    return look.is === 'admitted' ? null : refusal(place, visit.url.pathname, look);
  };
  const forReaders = subscribers.forReaders.map((route) => ({
    ...route,
    answer: async (at: AccessVisit) => {
      const look = await gate.look(at.page, at.visit);
      return look.is === 'admitted' ? route.answer(at) : refusal(at.place, at.visit.url.pathname, look);
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
    settled: () => mails.settled(),
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
    log.error({ error: messageOf(error), requestId: visit.requestId }, 'a subscription could not be ended');
    return unavailable(visit);
  }
}
