import type { MonitorStatus } from '@svc/coordinator/verdict/monitor.ts';
import { timesBetween } from '@svc/coordinator/verdict/uptime.ts';
import type { Told, Transition } from '../told.ts';
import type { Began } from './alert-facts.ts';

const DAY_MS = 86_400_000;

/**
 * The changes of status of a world. Each change is checked when it comes, and
 * the times of all days at the end: "uptime is time-weighted between verdicts".
 */
export class History {
  #transitions: Transition[] = [];
  #status: MonitorStatus = 'unknown';
  #at = 0;
  /**
   * Whether the service has started after the system's clock was
   * set, so that earlier changes may be dated in the future.
   */
  mayLieAhead = false;
  /** Whether the last change was dated in the future at the last start. */
  #isAhead = false;

  /** When the last change was, epoch ms. */
  get at(): number {
    return this.#at;
  }

  /**
   * Records that the monitor was declared at this instant,
   * on the slots' clock. Its status is `unknown` since then.
   */
  declared(now: number): void {
    this.#at = now;
  }

  /** Records a start of the service at this instant, on the slots' clock. */
  restarted(now: number): void {
    if (this.#at > now) this.#isAhead = true;
  }

  /**
   * Adds a change. Returns what is wrong with it; null: it begins
   * where the change before it ended, and is dated correctly.
   */
  add(transition: Transition, now: number): string | null {
    const { from, to, at } = transition;
    // If a clock that was ahead dated earlier changes, they get the date of the first change that follows.
    if (this.#isAhead && this.#at > at) {
      this.#transitions = this.#transitions.map((each) => (each.at > at ? { ...each, at } : each));
      this.#at = at;
    }
    this.#isAhead = false;
    const fault = this.#fault(transition, now);
    this.#transitions.push(transition);
    this.#status = to;
    this.#at = at;
    return fault === null ? null : `${from} → ${to} at ${at}: ${fault}`;
  }

  /**
   * Returns the status before these changes, which are the last ones, and the statuses that they made, each
   * with its beginning; null: a start may have dated a status again. The status before the changes is
   * included, because a channel may be told it in the same evaluation, at the end of a window or after a new
   * link.
   */
  beginsOf(news: readonly Transition[]): readonly Began[] | null {
    if (this.mayLieAhead) return null;
    const before = this.#transitions.at(-1 - news.length);
    const begun = news.map(({ to, at }) => ({ status: to, at, isNew: news.length === 1 }));
    return before === undefined ? begun : [{ status: before.to, at: before.at, isNew: false }, ...begun];
  }

  /**
   * "Ageing alone changes status only to unknown, dated at the expiry."
   *
   * @param tooFewAt when the votes became too few before these changes, epoch ms; null: they did not
   * @param slackMs  time by which a vote may age later, because its report waited for the end of a start
   */
  ageingFault(
    [first]: readonly Transition[],
    told: readonly Told[],
    tooFewAt: number | null,
    slackMs: number,
  ): string | null {
    if (first?.to !== 'unknown' || tooFewAt === null || told.some(({ is }) => is === 'declared')) return null;
    // Ages are not whole milliseconds.
    if (Math.abs(first.at - tooFewAt) <= slackMs + 1) return null;
    return `unknown since ${first.at}, the votes were too few at ${tooFewAt}`;
  }

  #fault({ from, to, at }: Transition, now: number): string | null {
    if (from !== this.#status) return `the status was ${this.#status}`;
    if (from === to) return 'nothing changed';
    if (!Number.isInteger(at)) return 'not a whole millisecond';
    if (at < this.#at) return `before the change of ${this.#at}`;
    // If a clock that was ahead by less than the tolerance dated a status, the next status has the same date.
    if (this.mayLieAhead && at === this.#at) return null;
    return at > now ? 'in the future' : null;
  }

  /**
   * The times of each day must add up to the day, and agree with the changes when they are added one by one.
   */
  daysFault(from: number, until: number): string | null {
    const first = Math.floor(from / DAY_MS) * DAY_MS;
    const edges: number[] = [];
    for (let edge = first; edge < until + DAY_MS; edge += DAY_MS) edges.push(edge);
    const days = timesBetween(
      this.#transitions.map(({ at, to }) => ({ at, status: to })),
      edges,
    );
    for (const [index, { active, degraded, error, unknown }] of days.entries()) {
      const sum = active + degraded + error + unknown;
      if (sum !== DAY_MS) return `the times of day ${index} add up to ${sum} ms`;
      const byHand = this.#errorTime(edges[index] as number, edges[index + 1] as number);
      if (byHand !== error) return `day ${index} has ${error} ms of error, added by hand ${byHand}`;
    }
    return null;
  }

  #errorTime(from: number, until: number): number {
    let sum = 0;
    for (const [index, { to, at }] of this.#transitions.entries()) {
      const end = Math.min(until, this.#transitions[index + 1]?.at ?? until);
      if (to === 'error') sum += Math.max(0, end - Math.max(from, at));
    }
    return sum;
  }
}
