import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { HttpPost, PostReply } from '../../outgoing/http-post.ts';
import {
  type DeclaredIcon,
  declaredIcons,
  type FetchedIcon,
  type IconImage,
  writeFetchedIcon,
} from '../../store/pages/page-icons.ts';
import type { Store } from '../../store/store.ts';
import { PageRounds } from '../page-rounds.ts';
import { imageTypeOf } from './image-type.ts';

/** Time between two fetches of an icon, ms. */
const FETCHED_EVERY_MS = 24 * 3_600_000;
/** Time until a failed fetch is tried again, ms: twice as long after each one, up to a day. */
const FAILED_FIRST_MS = 10 * 60_000;
/** Most bytes of an icon. */
const ICON_BYTES = 100_000;
const ICONS_PER_READ = 100;

type Parts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** Requests to addresses that the guard of channels allows. */
  readonly request: HttpPost;
};

/** What a fetch has shown. */
type Outcome =
  | { readonly is: 'image'; readonly image: IconImage; readonly validator: string | null }
  | { readonly is: 'unchanged' }
  | { readonly is: 'failed'; readonly problem: string };

/**
 * Fetches the icons of status pages, so that visitors load them from this service: their addresses go nowhere else. An
 * icon is fetched within a minute after a page has it, and once a day after that. While its server fails, pages show
 * the last image, and svc's own icon where there was none.
 *
 * Nothing is fetched at a visit, because visitors could then make svc ask. An SVG is not taken apart: it is served in a
 * sandbox.
 */
export class IconFetches {
  readonly #parts: Parts;
  readonly #rounds: PageRounds<DeclaredIcon>;

  constructor(parts: Parts) {
    this.#parts = parts;
    const { store, clock, log } = parts;
    this.#rounds = new PageRounds({
      clock,
      log,
      work: 'fetching icons',
      after: (pageId) => declaredIcons(store, pageId, ICONS_PER_READ),
      visit: async (icon) => {
        if (isDue(icon.fetched, clock.wall())) await this.#fetch(icon);
      },
    });
  }

  /** Fetches what is due, now and every minute. */
  start(): void {
    this.#rounds.start();
  }

  async stop(): Promise<void> {
    await this.#rounds.stop();
  }

  /** Resolves when the fetches that run now have ended. */
  async settled(): Promise<void> {
    await this.#rounds.settled();
  }

  async #fetch({ pageId, url, fetched }: DeclaredIcon): Promise<void> {
    const { store, clock, log, request } = this.#parts;
    const triedAt = clock.wall();
    const validator = fetched?.validator ?? null;
    const headers = [
      ['accept', 'image/*'],
      ...(validator === null ? [] : [['if-none-match', validator] as const]),
    ] as const;
    const { signal } = this.#rounds;
    const method = 'GET' as const;
    const answer = await request({ method, url, headers, secrets: [], signal, replyBytes: ICON_BYTES });
    if (signal.aborted) return;
    const outcome: Outcome =
      answer.kind === 'unanswered' ? { is: 'failed', problem: answer.error } : outcomeOf(answer);
    if (outcome.is === 'failed') log.warn({ page: pageId, problem: outcome.problem }, 'cannot fetch an icon');
    const isFailed = outcome.is === 'failed';
    const tried: FetchedIcon = {
      pageId,
      url,
      validator: outcome.is === 'image' ? outcome.validator : validator,
      problem: isFailed ? outcome.problem : null,
      failures: isFailed ? (fetched?.failures ?? 0) + 1 : 0,
      triedAt,
    };
    const image = outcome.is === 'image' ? outcome.image : null;
    await store.transaction((tx) => writeFetchedIcon(tx, tried, image));
  }
}

function outcomeOf({ statusCode, bytes, isWhole, headers }: PostReply): Outcome {
  if (statusCode === 304) return { is: 'unchanged' };
  if (statusCode !== 200) return { is: 'failed', problem: `its server answered with status ${statusCode}` };
  if (!isWhole) return { is: 'failed', problem: `it has more than ${ICON_BYTES / 1_000} KB, or broke off` };
  const contentType = imageTypeOf(bytes);
  if (contentType === null) return { is: 'failed', problem: 'it is no PNG, JPEG, GIF, WebP, ICO or SVG' };
  const { etag } = headers;
  const validator = typeof etag === 'string' && /^(?:W\/)?"[\x21\x23-\x7e]{0,200}"$/.test(etag) ? etag : null;
  return { is: 'image', image: { contentType, content: bytes }, validator };
}

/** @param now epoch ms */
function isDue(fetched: FetchedIcon | null, now: number): boolean {
  if (fetched === null) return true;
  const { failures, triedAt } = fetched;
  const wait = failures === 0 ? FETCHED_EVERY_MS : FAILED_FIRST_MS * 2 ** Math.min(failures - 1, 8);
  // A clock that was set back must not stop the fetches.
  return Math.abs(now - triedAt) >= Math.min(wait, FETCHED_EVERY_MS);
}
