import type { CreatedTokenView } from '../../api/answers.ts';
import type { Called } from '../../api/in-process.ts';

/** How long the answer to a creation is kept for a form that is sent again, ms: people click twice within a second. */
const KEPT_MS = 10_000;
/** Most answers that are kept. */
const MOST_KEPT = 100;

type Creation = { readonly at: number; readonly answer: Promise<Called<CreatedTokenView>> };

/**
 * Answers to creations, for a form that is sent twice: a browser shows the answer to the last click, and only the
 * first creation has the secret. Answers are kept in memory for seconds.
 */
export class Creations {
  readonly #kept = new Map<string, Creation>();

  /**
   * Creates, or answers as the creation with the same key did moments ago.
   *
   * @param key of the form and all that it holds
   * @param now epoch ms
   */
  once(key: string, now: number, create: () => Creation['answer']): Creation['answer'] {
    this.#forget(now);
    const before = this.#kept.get(key);
    if (before !== undefined) return before.answer;
    const answer = create();
    this.#kept.set(key, { at: now, answer });
    const forget = () => this.#kept.delete(key);
    answer.then(({ problem }) => problem !== null && forget(), forget);
    return answer;
  }

  #forget(now: number): void {
    for (const [key, { at }] of this.#kept) {
      if (now - at < KEPT_MS && this.#kept.size <= MOST_KEPT) return;
      this.#kept.delete(key);
    }
  }
}
