import { messageOf } from './errors.ts';

/** A logged error. `count` is the number of lines with this message and detail since `firstAt`. */
export type RecentError = {
  readonly message: string;
  /**
   * The texts and errors among the members of the line, `region=hosta-fra error=…`; '' when there are none.
   */
  readonly detail: string;
  readonly count: number;
  /**
   * When the error was first logged, epoch ms. The time and `count` start anew when the error returns after
   * others replaced it.
   */
  readonly firstAt: number;
  readonly lastAt: number;
};

/** Maximum number of errors that are kept. A further error replaces the one that was logged longest ago. */
const MOST = 20;
const LONGEST_DETAIL = 500;

/**
 * The last errors of this process's log (levels `error` and `fatal`), for people who read the API instead of
 * the log.
 */
export class RecentErrors {
  /** Errors by message and detail, in the order in which they were last logged. */
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

  /** The errors, the newest first. */
  list(): RecentError[] {
    return [...this.#errors.values()].reverse();
  }
}

function detailOf(members: unknown): string {
  if (members instanceof Error) return `error=${messageOf(members)}`.slice(0, LONGEST_DETAIL);
  if (typeof members !== 'object' || members === null) return '';
  return Object.entries(members)
    .flatMap(([name, value]) => {
      // It names the kind of the line for programs, and the message says it to people.
      if (name === 'event') return [];
      if (value instanceof Error) return `${name}=${messageOf(value)}`;
      // Numbers are left out. They differ from line to line, so each line would count as a new error.
      return typeof value === 'string' ? `${name}=${value}` : [];
    })
    .join(' ')
    .slice(0, LONGEST_DETAIL);
}
