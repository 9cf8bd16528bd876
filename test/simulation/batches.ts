import type { RecordedBatch } from '@svc/coordinator/store/results/recording-store.ts';
import type { MonitorStatus } from '@svc/coordinator/verdict/monitor.ts';
import type { NewDelivery } from '@svc/coordinator/verdict/writes.ts';
import type { Moment } from './oracle/moment.ts';
import type { BatchLife } from './slow-store.ts';
import type { Announcement, IncidentEnd, IncidentStart, Now, Told, Transition } from './told.ts';

/** Events that were evaluated and committed together. */
export type Commit = {
  readonly told: readonly Told[];
  /** When the events were evaluated. */
  readonly now: Now;
  readonly moment: Moment;
  /** Since when the service was free to evaluate the events, monotonic ms. See {@link Batches.freeSince}. */
  readonly freeSince: number;
  transitions: Transition[];
  announcements: Announcement[];
  /** Incidents that began or ended in this commit. */
  readonly opened: IncidentStart[];
  readonly closed: IncidentEnd[];
  /** The status that the service shows after the commit. */
  status: MonitorStatus;
};

export type BatchesParts = {
  readonly now: () => Now;
  readonly status: () => MonitorStatus;
  /** Returns what the oracle notes when an evaluation ends. */
  readonly momentOf: (now: Now) => Moment;
  /** Called when the effects of the log of changes up to this entry are durable. */
  readonly onApplied: (changesUntil: number) => void;
};

/**
 * The inputs that one life of the coordinator gets, from the event to the commit that is shown to the oracle.
 */
export class Batches implements BatchLife {
  readonly #parts: BatchesParts;
  /** The inputs that are not evaluated yet. */
  #told: Told[] = [];
  /**
   * When the evaluation of the present batch began, and the number of inputs in the batch, counted
   * from the first input in the list; null: no batch is being evaluated.
   */
  #evaluating: { readonly now: Now; readonly count: number } | null = null;
  /** The batch that is being written, and what listeners would be told of it once it is durable. */
  #written: {
    readonly commit: Commit;
    durable: Pick<Commit, 'transitions' | 'announcements'> | null;
  } | null = null;
  /** The commits that were not shown to the oracle yet. */
  #commits: Commit[] = [];
  /** The last of these commits. Listeners are being informed of it. */
  #latest: Commit | null = null;
  /** Whether the last write of a batch failed. */
  #hasFailed = false;
  /**
   * Since when the service is free to evaluate a batch, monotonic ms: the end of the last commit, or the later
   * instant at which a failed batch was evaluated again, or at which the process continued. -Infinity: since the
   * start.
   */
  freeSince = Number.NEGATIVE_INFINITY;

  constructor(parts: BatchesParts) {
    this.#parts = parts;
  }

  /** Notes an input that is about to be queued. */
  note(told: Told): void {
    this.#told.push(told);
  }

  get hasNews(): boolean {
    return this.#told.length > 0;
  }

  /** Whether commits wait to be shown to the oracle. */
  get hasCommits(): boolean {
    return this.#commits.length > 0;
  }

  /** The inputs in the batch that is being evaluated. */
  get evaluating(): readonly Told[] {
    return this.#told.slice(0, this.#evaluating?.count ?? 0);
  }

  /** Whether the queue waits before it tries again to write the last batch. */
  get isPausing(): boolean {
    return this.#hasFailed && this.#evaluating === null;
  }

  /** Notes that an evaluation of all inputs so far begins. */
  evaluates(): void {
    this.#evaluating ??= { now: this.#parts.now(), count: this.#told.length };
  }

  /** Forgets the evaluation, because it was not an evaluation of a batch. */
  forget(): void {
    this.#evaluating = null;
  }

  evaluated(): void {
    const now = this.#evaluating?.now ?? this.#parts.now();
    // Until now, the batch waited for the database.
    if (this.#hasFailed) this.freeSince = now.monotonic;
    this.#hasFailed = false;
    const commit: Commit = {
      told: this.#told.splice(0, this.#evaluating?.count ?? 0),
      now,
      moment: this.#parts.momentOf(now),
      freeSince: this.freeSince,
      transitions: [],
      announcements: [],
      opened: [],
      closed: [],
      status: this.#parts.status(),
    };
    this.#evaluating = null;
    this.#written = { commit, durable: null };
  }

  durable({ writes, changesUntil }: RecordedBatch, isQueued: readonly boolean[]): void {
    if (changesUntil !== null) this.#parts.onApplied(changesUntil);
    if (this.#written === null) return;
    const transitions = writes.transitions.map(transitionOf);
    const announcements = writes.deliveries.filter((_, index) => isQueued[index]).map(announcementOf);
    this.#written.durable = { transitions, announcements };
    const { opened, closed } = this.#written.commit;
    opened.push(...writes.openedIncidents);
    for (const { key, at, closure } of writes.closedIncidents)
      closed.push({ key, at, isRecovery: closure === null });
  }

  failed(): void {
    const told = this.#written?.commit.told ?? [];
    // The next evaluation asks again whether the job is offered again.
    for (const each of told) if (each.is === 'reported') each.isOfferedAgain = false;
    this.#told.unshift(...told);
    this.#written = null;
    this.#hasFailed = true;
  }

  answered(): void {
    this.#latest = this.#written?.commit ?? null;
    if (this.#latest !== null) this.#commits.push(this.#latest);
    this.#written = null;
    this.freeSince = this.#parts.now().monotonic;
  }

  changed(change: Transition): void {
    this.#latest?.transitions.push(transitionOf(change));
  }

  queued(delivery: NewDelivery): void {
    this.#latest?.announcements.push(announcementOf(delivery));
  }

  /** The batch that is being written; null: no batch is being written. */
  get writing(): Commit | null {
    return this.#written?.commit ?? null;
  }

  /**
   * Returns the batch that was committed without the knowledge of this life; null: there is no such batch.
   */
  unanswered(): Commit | null {
    if (this.#written === null || this.#written.durable === null) return null;
    const { commit, durable } = this.#written;
    const isRemoved = commit.told.some((told) => told.is === 'declared' && told.after === null);
    // A monitor that is removed has no last change of status.
    const status = isRemoved ? 'unknown' : (durable.transitions.at(-1)?.to ?? commit.status);
    return Object.assign(commit, durable, { status });
  }

  /** Returns the commits that were not shown to the oracle yet. */
  take(): readonly Commit[] {
    const commits = this.#commits;
    const last = commits.at(-1);
    if (last === undefined) return commits;
    this.#commits = [];
    for (const commit of commits) commit.status = commit.transitions.at(-1)?.to ?? commit.status;
    // A monitor that is removed has no last change of status.
    last.status = this.#parts.status();
    return commits;
  }
}

function transitionOf({ from, to, reason, at }: Transition): Transition {
  return { from, to, reason, at };
}

function announcementOf({ notificationId, uid, alert }: NewDelivery): Announcement {
  const { status, closure } = alert;
  return { channel: notificationId, status, isClosure: closure !== undefined, alert, id: uid };
}
