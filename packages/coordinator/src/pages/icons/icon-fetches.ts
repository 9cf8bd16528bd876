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

/** Time between two fetches of an icon, ms. */
const FETCHED_EVERY_MS = 24 * 3_600_000;
/**
 * Time until the first retry after a failed fetch, ms. Each further failure doubles the time, up to a day.
 */
const FAILED_FIRST_MS = 10 * 60_000;
/** An icon must have fewer bytes than this. */
const ICON_BYTES = 100_000;
const ICONS_PER_READ = 100;

type Parts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** Sends HTTP requests, but only to addresses to which channels may send too. */
  readonly request: HttpPost;
};

/** The result of a fetch. */
type Outcome =
  | { readonly is: 'image'; readonly image: IconImage; readonly validator: string | null }
  | { readonly is: 'unchanged' }
  | { readonly is: 'failed'; readonly problem: string };

/**
 * Fetches the icons of status pages, so that visitors load the icons from this service and do not
 * contact other servers. An icon is fetched within a minute after a page declares it, and then once
 * a day. While its server fails, pages show the last image, or svc's own icon if there is no image.
 *
 * No visit causes a fetch: otherwise visitors could make svc send requests.
 * svc does not check the content of an SVG, but serves it in a sandbox.
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
      readAfter: (pageId) => declaredIcons(store, pageId, ICONS_PER_READ),
      workOn: async (icon) => {
        if (isDue(icon.fetched, clock.wall())) await this.#fetchIcon(icon);
      },
    });
  }

  /** Fetches the icons that are due, now and every minute. */
  start(): void {
    this.#rounds.start();
  }

  async stop(): Promise<void> {
    await this.#rounds.stop();
  }

  /** Resolves when the running fetches have ended. */
  async roundEnded(): Promise<void> {
    await this.#rounds.roundEnded();
  }

  async #fetchIcon({ pageId, url, fetched }: DeclaredIcon): Promise<void> {
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
  if (!isWhole)
    return { is: 'failed', problem: `it has more than ${ICON_BYTES / 1_000} KB, or the transfer broke off` };
  const contentType = imageTypeOf(bytes);
  if (contentType === null) return { is: 'failed', problem: 'it is no PNG, JPEG, GIF, WebP, ICO or SVG' };
  const { etag } = headers;
  const validator = typeof etag === 'string' && /^(?:W\/)?"[\x21\x23-\x7e]{0,200}"$/.test(etag) ? etag : null;
  return { is: 'image', image: { contentType, content: bytes }, validator };
}

/**
 * Whether an icon must be fetched.
 *
 * @param now epoch ms
 */
function isDue(fetched: FetchedIcon | null, now: number): boolean {
  if (fetched === null) return true;
  const { failures, triedAt } = fetched;
  const wait = failures === 0 ? FETCHED_EVERY_MS : FAILED_FIRST_MS * 2 ** Math.min(failures - 1, 8);
  // The age is absolute, because a clock that is set back must not stop the fetches.
  return Math.abs(now - triedAt) >= Math.min(wait, FETCHED_EVERY_MS);
}

/**
 * Types of images that pages show. The bytes of an image
 * decide its type, and the server's `Content-Type` is ignored.
 */
type ImageType =
  | ('image/png' | 'image/jpeg' | 'image/gif')
  | ('image/webp' | 'image/x-icon' | 'image/svg+xml');

const SIGNATURES: readonly (readonly [ImageType, RegExp])[] = [
  ['image/png', /^\x89PNG\r\n\x1a\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF[\s\S]{4}WEBP/],
  ['image/x-icon', /^\x00\x00\x01\x00/],
];

/** Matches what may precede the first element of an SVG: byte order mark, declaration, comments, DOCTYPE. */
const BEFORE_SVG = /^\ufeff?(?:\s|<\?xml[^>]*\?>|<!--[\s\S]*?-->|<!DOCTYPE[^>[]*(?:\[[^\]]*\])?[^>]*>)*/;

/** Finds the type of an image by its first bytes; null: pages do not show images of this type. */
export function imageTypeOf(bytes: Uint8Array): ImageType | null {
  const head = Buffer.from(bytes.subarray(0, 4_096));
  const latin = head.toString('latin1');
  const found = SIGNATURES.find(([, signature]) => signature.test(latin));
  if (found !== undefined) return found[0];
  const text = head.toString('utf8').replace(BEFORE_SVG, '');
  return /^<svg[\s>]/.test(text) ? 'image/svg+xml' : null;
}
