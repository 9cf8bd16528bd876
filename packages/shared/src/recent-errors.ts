import { messageOf } from './errors.ts';

/** An error that was logged, with how often since the start of the process, in the same words. */
export type RecentError = {
  readonly message: string;
  /** The plain members of the line, `region=hosta-fra error=…`; '' where it has none. */
  readonly detail: string;
  readonly count: number;
  /** When it was logged first and last, epoch ms. */
  readonly firstAt: number;
  readonly lastAt: number;
};

/** Most errors that are kept. The one that was logged longest ago makes room. */
const MOST = 20;
const LONGEST_DETAIL = 500;

/** The last errors and alarms of the log of this process, for people who ask the API in place of the log. */
export class RecentErrors {
  /** By text, in the order of their last time. */
  readonly #errors = new Map<string, RecentError>();

  /** @param at epoch ms */
  addError(members: unknown, message: string, at: number): void {
    const detail = detailOf(members);
    const key = `${message}\n${detail}`;
    const known = this.#errors.get(key);
    this.#errors.delete(key);
    this.#errors.set(key, {
      message,
      detail,
      count: (known?.count ?? 0) + 1,
      firstAt: known?.firstAt ?? at,
      lastAt: at,
    });
    const [oldest] = this.#errors.keys();
    if (this.#errors.size > MOST && oldest !== undefined) this.#errors.delete(oldest);
  }

  /** The newest first. */
  list(): RecentError[] {
    return [...this.#errors.values()].reverse();
  }
}

function detailOf(members: unknown): string {
  if (members instanceof Error) return `error=${messageOf(members)}`.slice(0, LONGEST_DETAIL);
  if (typeof members !== 'object' || members === null) return '';
  return Object.entries(members)
    .flatMap(([name, value]) => {
      if (value instanceof Error) return `${name}=${messageOf(value)}`;
      // Numbers differ from line to line, and would make each error another one.
      return typeof value === 'string' ? `${name}=${value}` : [];
    })
    .join(' ')
    .slice(0, LONGEST_DETAIL);
}
