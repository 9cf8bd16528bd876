import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { Problem } from '../../api/problem.ts';
import { newestChange } from '../../store/declaration/changes.ts';
import type { Store } from '../../store/store.ts';
import type { DashboardPage } from '../dashboard-page.ts';

/** Time between two reads of the database while a page listens, ms. */
const READ_EVERY_MS = 1_000;
/** Time between comment lines, which keep the connection alive, ms. */
const BREATHE_EVERY_MS = 15_000;
/**
 * Lifetime of a stream of events, ms. After it the browser
 * opens another stream, and svc checks the session again.
 */
const STREAM_LIFE_MS = 10 * 60_000;
/** Maximum number of unread texts in a stream. If there are more, svc closes the stream. */
const MOST_WAITING = 16;
/** Maximum number of open streams. */
const MOST_STREAMS = 500;
/** Maximum number of open streams of one token, so that one token cannot take all streams. */
const MOST_OF_TOKEN = 100;

type FeedParts = { readonly store: Store; readonly clock: Clock; readonly log: Logger };
type Listener = { readonly session: ListeningSession; send(text: string): void; end(): void };

/** The session that a stream belongs to. */
type ListeningSession = {
  readonly tokenId: number;
  /** Whether the session is still open. The feed calls this once a second, and before each event. */
  isOpen(): boolean;
};

/**
 * Reports changes to browsers as server-sent events. While browsers listen, the feed reads the database
 * once a second for all of them together. So it also notices changes that other coordinators made.
 */
export class ChangeFeed {
  readonly #parts: FeedParts;
  readonly #listeners = new Set<Listener>();
  #newest: string | null = null;
  #isReading = false;
  #cancelReading: () => void = () => {};
  #cancelBreathing: () => void = () => {};

  constructor(parts: FeedParts) {
    this.#parts = parts;
  }

  /**
   * Opens a stream of events. The stream ends with its session, and
   * after 10 minutes at the latest. Null: too many streams are open.
   *
   * @param signal aborted when the visitor closes the connection
   */
  openStream(session: ListeningSession, signal: AbortSignal): ReadableStream<Uint8Array> | null {
    const ofToken = [...this.#listeners].filter((each) => each.session.tokenId === session.tokenId);
    if (this.#listeners.size >= MOST_STREAMS || ofToken.length >= MOST_OF_TOKEN) return null;
    let close = () => {};
    let leave = () => false;
    const encoder = new TextEncoder();
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        const cancel = this.#parts.clock.after(STREAM_LIFE_MS, () => close());
        const listener = {
          session,
          send: (text: string) => {
            if ((controller.desiredSize ?? 0) < -MOST_WAITING) close();
            else controller.enqueue(encoder.encode(text));
          },
          end: () => close(),
        };
        leave = () => {
          if (!this.#remove(listener)) return false;
          cancel();
          signal.removeEventListener('abort', close);
          return true;
        };
        close = () => {
          if (leave()) controller.close();
        };
        signal.addEventListener('abort', close);
        this.#add(listener);
        listener.send('retry: 3000\n\n');
      },
      // The reader has closed the stream already.
      cancel: () => void leave(),
    });
  }

  /** Ends all streams. */
  stop(): void {
    for (const listener of this.#listeners) listener.end();
  }

  #add(listener: Listener): void {
    this.#listeners.add(listener);
    if (this.#listeners.size > 1) return;
    const { clock } = this.#parts;
    this.#newest = null;
    void this.#readChange();
    this.#cancelReading = clock.every(READ_EVERY_MS, () => void this.#readChange());
    this.#cancelBreathing = clock.every(BREATHE_EVERY_MS, () => this.#sendToAll(':\n\n'));
  }

  /**
   * Removes a listener.
   *
   * @returns false: the listener was removed before
   */
  #remove(listener: Listener): boolean {
    const isRemoved = this.#listeners.delete(listener);
    if (this.#listeners.size === 0) {
      this.#cancelReading();
      this.#cancelBreathing();
    }
    return isRemoved;
  }

  async #readChange(): Promise<void> {
    for (const listener of this.#listeners) if (!listener.session.isOpen()) listener.end();
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      const newest = await newestChange(this.#parts.store);
      const before = this.#newest;
      this.#newest = newest;
      if (before !== null && before !== newest) this.#sendToAll(`event: change\ndata: ${newest}\n\n`);
    } catch (error) {
      // The next read tries again. Pages work without events.
      this.#parts.log.debug({ error: messageOf(error) }, 'cannot read the newest change');
    } finally {
      this.#isReading = false;
    }
  }

  #sendToAll(text: string): void {
    for (const listener of this.#listeners) {
      if (listener.session.isOpen()) listener.send(text);
      else listener.end();
    }
  }
}

/** The stream of changes to which `live.js` listens. */
export function changesPage(changes: ChangeFeed): DashboardPage {
  return {
    method: 'GET',
    path: '/events',
    scope: 'read',
    async handle({ token, isSessionOpen, signal }) {
      const stream = changes.openStream({ tokenId: token.id, isOpen: isSessionOpen }, signal);
      if (stream === null) {
        throw new Problem('unavailable', 'Too many pages listen already.', {
          headers: { 'retry-after': '30' },
        });
      }
      const headers = {
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      };
      return { response: new Response(stream, { headers }) };
    },
  };
}
