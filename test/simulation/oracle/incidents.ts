import type { MonitorStatus } from '@svc/coordinator/verdict/monitor.ts';
import type { IncidentEnd, IncidentStart, Now, Told, Transition } from '../told.ts';
import type { Span } from './confirmation.ts';

/** The parts of a commit that concern incidents. */
export type IncidentNews = {
  readonly transitions: readonly Transition[];
  readonly opened: readonly IncidentStart[];
  readonly closed: readonly IncidentEnd[];
  /** For each status that a row of slots made, when the row began, epoch ms. */
  readonly begins: readonly (Span & { readonly status: MonitorStatus })[];
  /** The status after the commit. */
  readonly status: MonitorStatus;
};

/**
 * Checks the incidents of a monitor. "An incident runs from the first error or degraded to recovery and
 * keeps one key for all its alerts." A removal or deactivation of the monitor ends its incident too.
 */
export class Incidents {
  /** When each incident began, epoch ms, by its key. */
  readonly #begun = new Map<string, number>();
  #open: string | null = null;
  /** Whether the beginnings of rows are not known, because a clock was set or votes are in doubt. */
  isDateUnknown = false;
  /** Keys of the incidents whose beginning was in the future at a start. */
  readonly #ahead = new Set<string>();

  /**
   * Returns when the incident began, epoch ms; null: a clock that was
   * ahead dated it; undefined: there was no incident with this key.
   */
  beginOf(key: string): number | null | undefined {
    return this.#ahead.has(key) ? null : this.#begun.get(key);
  }

  /**
   * Records a start of the service at this instant, on the slots'
   * clock. Incidents with a later beginning now begin at this instant.
   */
  restarted(now: number): void {
    for (const [key, at] of this.#begun) {
      if (at <= now) continue;
      this.#begun.set(key, now);
      this.#ahead.add(key);
    }
  }

  /** Adds the incidents of a commit. Returns the first fault; null: there is no fault. */
  add(
    { transitions, opened, closed, status, begins }: IncidentNews,
    told: readonly Told[],
    now: Now,
  ): string | null {
    const isEnded = told.some(endsIncident);
    const starts = opened.map((start) => this.#opened(start, transitions, begins));
    const ends = closed.map((end) => this.#closed(end, transitions, isEnded, now));
    const fault = [...starts, ...ends].find((each) => each !== null) ?? null;
    const ended = new Set(closed.map(({ key }) => key));
    const still = [...(this.#open === null ? [] : [this.#open]), ...opened.map(({ key }) => key)];
    const open = still.filter((key) => !ended.has(key));
    this.#open = open.at(-1) ?? null;
    return fault ?? (open.length > 1 ? 'two incidents are open' : this.#missing(status));
  }

  #opened(
    { key, at }: IncidentStart,
    transitions: readonly Transition[],
    begins: IncidentNews['begins'],
  ): string | null {
    if (this.#begun.has(key)) return `incident ${key} began twice`;
    this.#begun.set(key, at);
    const rows = begins.filter((each) => isTrouble(each.status));
    const isDated =
      rows.length > 0
        ? rows.some(({ from, until }) => from - 1 <= at && at <= until + 1)
        : transitions.some((each) => each.at === at && isTrouble(each.to));
    return isDated || this.isDateUnknown ? null : `incident ${key} began at ${at}, and nothing else did`;
  }

  #closed(
    { key, at, isRecovery }: IncidentEnd,
    transitions: readonly Transition[],
    isEnded: boolean,
    now: Now,
  ): string | null {
    const begunAt = this.#begun.get(key);
    if (begunAt === undefined) return `incident ${key} ended and never began`;
    if (at < begunAt) return `incident ${key} ended at ${at}, before it began at ${begunAt}`;
    if (isRecovery) {
      const isDated = transitions.some((each) => each.at === at && each.to === 'active');
      return isDated ? null : `incident ${key} ended at ${at}, and no recovery came then`;
    }
    if (!isEnded) return `incident ${key} was ended by nobody`;
    return at === now.slot ? null : `incident ${key} was ended at ${now.slot}, and is dated ${at}`;
  }

  #missing(status: MonitorStatus): string | null {
    if (isTrouble(status) && this.#open === null) return `the status is ${status}, and no incident is open`;
    return status === 'active' && this.#open !== null ? 'an incident is open after the recovery' : null;
  }
}

function isTrouble(status: MonitorStatus): boolean {
  return status === 'error' || status === 'degraded';
}

function endsIncident(told: Told): boolean {
  return told.is === 'declared' && told.after?.active !== true;
}
