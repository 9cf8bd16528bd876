import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { LiveMonitor } from '../domain/monitor.ts';
import type { DeclaredChange } from '../evaluation/declared-change.ts';
import { type Change, changesAfter, type RemovedRows, UNREADABLE } from '../store/changes.ts';
import { StoreError, type StoreErrorCode } from '../store/errors.ts';
import type { Secrets } from '../store/secrets.ts';
import type { Store } from '../store/store.ts';
import type { ChangeEffects } from './configuration.ts';
import { GrowingWaits } from './growing-waits.ts';
import { loadLiveMonitors } from './live-monitors.ts';

/** Entries that are applied at once: some 5 ms of the evaluation. */
const ENTRIES_PER_STEP = 250;

/** Who applies effects; the recorder is one. */
export interface DeclarationSink {
  /**
   * Applies the changes and removes the log up to `until` in one transaction. Resolves after its commit.
   *
   * @throws StoreError `store-closed` when it stops before, or what is wrong with the changes themselves
   */
  declare(changes: readonly DeclaredChange[], until: number): Promise<void>;
}

type Parts = {
  readonly store: Store;
  readonly secrets: Secrets;
  readonly sink: DeclarationSink;
  readonly clock: Clock;
  readonly log: Logger;
};

/** The change is at fault, or the rows that it names: trying again would fail for ever. */
const OWN_FAULTS: ReadonlySet<StoreErrorCode> = new Set([
  'store-constraint',
  'store-key',
  'store-unreadable',
]);

/**
 * Applies the log of changes, in its order and in steps.
 *
 * A monitor is taken as its row says now, once per step: of several changes of one monitor only the last is
 * seen. Effects are found by comparing with what was applied before, so a change that is applied again after
 * a crash does no harm.
 *
 * What the database cannot do for now is tried again after growing waits. A change that cannot be applied for
 * a reason of its own is found by applying one at a time, logged and left out, so that it does not stop the
 * others: its monitor goes on as it was until it is changed again, or until the next start, which reads rows.
 */
export class ChangeApplier implements ChangeEffects {
  readonly #parts: Parts;
  readonly #waits: GrowingWaits;
  /** Who is to be answered when this stops. */
  readonly #waiting = new Set<() => void>();
  #applied = 0;
  #isStopped = false;
  #running: Promise<void> = Promise.resolve();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#waits = new GrowingWaits(parts.clock);
  }

  /** Resolves when the changes up to this one are applied, could not be for now, or this is stopped. Never rejects. */
  applied(lastChangeId: number): Promise<void> {
    if (this.#isStopped) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.add(resolve);
      this.#running = this.#running
        .then(() => this.#applyUntil(lastChangeId))
        .then(() => {
          this.#waiting.delete(resolve);
          resolve();
        });
    });
  }

  /** Applies what an earlier process, or a time without a leader, has left. */
  resume(): Promise<void> {
    return this.applied(Number.MAX_SAFE_INTEGER);
  }

  /** Lets everybody go who waits. What is not applied stays in the log. */
  stop(): void {
    this.#isStopped = true;
    this.#waits.reset();
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  async #applyUntil(lastChangeId: number): Promise<void> {
    try {
      while (!this.#isStopped && this.#applied < lastChangeId) {
        if (!(await this.#step())) return;
      }
    } catch (error) {
      if (this.#isStopped) return;
      const waitMs = this.#waits.again(() => void this.resume());
      this.#parts.log.error(
        { error: messageOf(error), tries: this.#waits.tries, waitMs },
        'changes of the declaration could not be applied; they are tried again',
      );
    }
  }

  /** False: there is nothing more in the log. */
  async #step(): Promise<boolean> {
    const changes = await changesAfter(this.#parts.store, this.#applied, ENTRIES_PER_STEP);
    if (changes.length === 0) return false;
    try {
      await this.#apply(changes);
    } catch (error) {
      if (this.#isStopped || !isOwnFault(error)) throw error;
      for (const change of changes) await this.#applyAlone(change);
    }
    return true;
  }

  async #applyAlone(change: Change): Promise<void> {
    try {
      await this.#apply([change]);
    } catch (error) {
      if (this.#isStopped || !isOwnFault(error)) throw error;
      this.#parts.log.error(
        { error: messageOf(error), ...namesOf(change) },
        'a change of the declaration cannot be applied and is left out: what it names goes on as before',
      );
      await this.#declare([], change.id);
    }
  }

  /** @param changes one or more that follow each other */
  async #apply(changes: readonly Change[]): Promise<void> {
    const { store, secrets, log } = this.#parts;
    const ids = changes.flatMap((change) => (change.kind === 'monitor' ? [change.monitorId] : []));
    const current = await loadLiveMonitors(store, secrets, [...new Set(ids)]);
    for (const change of changes.filter(isUnreadable)) {
      log.error(
        namesOf(change),
        'what was announced on a removed link cannot be read: its incident may have to be closed by hand',
      );
    }
    await this.#declare(declaredChanges(changes, current), changes.at(-1)?.id ?? this.#applied);
  }

  async #declare(changes: readonly DeclaredChange[], until: number): Promise<void> {
    if (this.#isStopped) throw new StoreError('store-closed', 'changes are not applied any more');
    await this.#parts.sink.declare(changes, until);
    this.#applied = until;
    this.#waits.reset();
  }
}

function isOwnFault(error: unknown): boolean {
  return !(error instanceof StoreError) || OWN_FAULTS.has(error.code);
}

function namesOf(change: Change) {
  const { id, kind } = change;
  return {
    change: id,
    kind,
    ...('monitorId' in change ? { monitor: change.monitorId } : {}),
    ...('notificationId' in change ? { notification: change.notificationId } : {}),
  };
}

function isUnreadable(change: Change): boolean {
  if (change.kind === 'monitor') return change.removed === UNREADABLE;
  return change.kind === 'unlinked' && change.link === UNREADABLE;
}

function declaredChanges(
  changes: readonly Change[],
  current: ReadonlyMap<number, LiveMonitor>,
): DeclaredChange[] {
  const removals = removalsIn(changes);
  const seen = new Set<number>();
  return changes.flatMap((change): DeclaredChange[] => {
    switch (change.kind) {
      case 'monitor': {
        const { kind, monitorId } = change;
        if (seen.has(monitorId)) return [];
        seen.add(monitorId);
        const monitor = current.get(monitorId) ?? null;
        const removed = removals.get(monitorId);
        // It was removed after these entries were read: the entry that says so has what ends its incident.
        if (monitor === null && removed === undefined) return [];
        return [{ kind, monitorId, monitor, removed: readable(removed) }];
      }
      case 'linked': {
        const { kind, monitorId, notificationId, providerType } = change;
        // The channel is gone since: another entry says so.
        return providerType === null ? [] : [{ kind, monitorId, notificationId, providerType }];
      }
      case 'unlinked': {
        const { kind, monitorId, notificationId } = change;
        const link = readable(change.link);
        return [{ kind, monitorId, notificationId, link: link && { ...link, notificationId } }];
      }
      case 'channel-removed':
        return [{ kind: change.kind, notificationId: change.notificationId }];
      default:
        return change satisfies never;
    }
  });
}

/**
 * The monitors that were removed, with the links that ended before: where the monitor is not in memory any
 * more (another process has unlinked and removed it), only its removal can close its incident there.
 */
function removalsIn(changes: readonly Change[]): Map<number, RemovedRows | typeof UNREADABLE> {
  const unlinked = Map.groupBy(
    changes.filter((change) => change.kind === 'unlinked'),
    ({ monitorId }) => monitorId,
  );
  const removals = new Map<number, RemovedRows | typeof UNREADABLE>();
  for (const change of changes) {
    if (change.kind !== 'monitor' || change.removed === null) continue;
    const { monitorId, removed } = change;
    const ended = (unlinked.get(monitorId) ?? []).flatMap(({ notificationId, link }) =>
      link === UNREADABLE ? [] : [{ notificationId, ...link }],
    );
    const isReadable = removed !== UNREADABLE;
    removals.set(monitorId, isReadable ? { ...removed, links: [...removed.links, ...ended] } : removed);
  }
  return removals;
}

function readable<T extends object>(detail: T | typeof UNREADABLE | undefined): T | null {
  return detail === undefined || detail === UNREADABLE ? null : detail;
}
