import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { GrowingWaits } from '@svc/shared/waiting.ts';
import { type Change, changesAfter, type RemovedRows, UNREADABLE } from '../store/declaration/changes.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import { StoreError, type StoreErrorCode } from '../store/errors.ts';
import { liveWindowsOf } from '../store/incidents/maintenance-windows.ts';
import type { Store } from '../store/store.ts';
import type { DeclaredChange } from '../verdict/declared-effects.ts';
import type { LiveWindow } from '../verdict/maintenance-window.ts';
import type { LiveMonitor } from '../verdict/monitor.ts';
import type { Shard } from '../verdict/shard.ts';
import type { ChangeEffects } from './configuration.ts';
import { loadLiveMonitors } from './live-monitors.ts';

/** Maximum number of log entries in one step. Evaluating so many entries takes about 5 ms. */
const ENTRIES_PER_STEP = 250;

/** Applies changes of the declaration to votes, incidents and alerts. The recorder implements it. */
export interface DeclarationSink {
  /**
   * Applies the changes and removes the shard's log entries up to the
   * id `until`, in one transaction. The promise resolves after the commit.
   *
   * @throws StoreError `store-closed` when the recorder stops before
   *   the commit, or an error that one of the changes causes
   */
  declare(changes: readonly DeclaredChange[], until: number): Promise<void>;
}

type Parts = {
  readonly shard: Shard;
  readonly store: Store;
  readonly secrets: Secrets;
  readonly sink: DeclarationSink;
  readonly clock: Clock;
  readonly log: Logger;
};

const NO_WINDOWS: ReadonlyMap<number, LiveWindow> = new Map();

/**
 * Codes of the database errors that a change or its rows cause. Applying the change again would fail again.
 */
const OWN_FAULTS: ReadonlySet<StoreErrorCode> = new Set([
  'store-constraint',
  'store-key',
  'store-unreadable',
]);

/**
 * Applies the shard's log of changes in steps, oldest entry first.
 *
 * A step reads the present row of each changed monitor, so several changes of one monitor in
 * a step are applied as one. The effects follow from a comparison with the state that was
 * applied last, so a change may safely be applied again after a crash.
 *
 * When the database fails temporarily, the applier tries the step again after growing waits. When a change
 * itself causes the error, the applier takes the entries of the step one at a time. It logs and skips the
 * faulty change, so that the changes after it are applied. The resource of the faulty change keeps its old
 * state in memory until it is changed again, or until the next leader of the shard reads all rows.
 */
export class ChangeApplier implements ChangeEffects {
  readonly #parts: Parts;
  readonly #waits: GrowingWaits;
  /** Functions that resolve the promises of waiting callers when the applier stops. */
  readonly #waiting = new Set<() => void>();
  #applied = 0;
  #isStopped = false;
  #running: Promise<void> = Promise.resolve();
  /** A call of {@link applyRemaining} that waits for its turn. */
  #nextRemaining: Promise<void> | null = null;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#waits = new GrowingWaits(parts.clock);
  }

  /**
   * Applies the changes up to the entry with this id. Resolves when the
   * changes are applied, when the database prevents that now (the applier
   * then tries again later), or when the applier stops. Never rejects.
   */
  applyUntil(lastChangeId: number): Promise<void> {
    return this.#inTurn(() => this.#applySteps(lastChangeId));
  }

  /**
   * Applies all changes in the log of the shard. The leader calls `applyRemaining` at its
   * start, for changes that were logged while no process was leading the shard, and then
   * regularly, for changes that other coordinators log. While a call waits for its turn,
   * further calls share that turn, so calls do not pile up while the database does not answer.
   */
  applyRemaining(): Promise<void> {
    this.#nextRemaining ??= this.#inTurn(() => {
      this.#nextRemaining = null;
      return this.#applySteps(Number.MAX_SAFE_INTEGER);
    });
    return this.#nextRemaining;
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    if (this.#isStopped) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.add(resolve);
      this.#running = this.#running.then(work).then(() => {
        this.#waiting.delete(resolve);
        resolve();
      });
    });
  }

  /** Releases all waiting callers. Changes that are not applied stay in the log. */
  stop(): void {
    this.#isStopped = true;
    this.#waits.endWait();
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  async #applySteps(lastChangeId: number): Promise<void> {
    try {
      while (!this.#isStopped && this.#applied < lastChangeId) {
        if (!(await this.#step())) return;
      }
    } catch (error) {
      // While a failed step waits for its next try, other calls fail for the same
      // reason. They are not logged.
      if (this.#isStopped || this.#waits.isWaiting) return;
      const waitMs = this.#waits.scheduleRetry(() => void this.applyRemaining());
      this.#parts.log.error(
        { error: messageOf(error), tries: this.#waits.tries, waitMs },
        'cannot apply changes of the declaration now; svc tries again',
      );
    }
  }

  /** Applies the next entries of the log. Returns false when the log has no further entries. */
  async #step(): Promise<boolean> {
    const { store, shard } = this.#parts;
    const changes = await changesAfter(store, this.#applied, ENTRIES_PER_STEP, shard);
    if (changes.length === 0) {
      this.#waits.endWait();
      return false;
    }
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
        'cannot apply a change of the declaration: svc skips it, and its resource continues as before',
      );
      await this.#declare([], change.id);
    }
  }

  /**
   * Applies entries of the log in one transaction.
   *
   * @param changes at least one; consecutive entries of the log
   */
  async #apply(changes: readonly Change[]): Promise<void> {
    const { store, secrets, log } = this.#parts;
    const ids = changes.flatMap((change) => (change.kind === 'monitor' ? [change.monitorId] : []));
    const current = await loadLiveMonitors(store, secrets, [...new Set(ids)]);
    for (const change of changes.filter(isUnreadable)) {
      log.error(
        namesOf(change),
        'cannot read the announcements of a removed link: its incident may have to be closed by hand',
      );
    }
    const windows = await this.#windowsOf(changes);
    await this.#declare(declaredChanges(changes, current, windows), changes.at(-1)?.id ?? this.#applied);
  }

  /** Reads the present maintenance windows and mutes that the changes name. Those that were removed are missing. */
  async #windowsOf(changes: readonly Change[]): Promise<ReadonlyMap<number, LiveWindow>> {
    const ids = changes.flatMap((change) =>
      change.kind === 'maintenance' && change.windowId !== null ? [change.windowId] : [],
    );
    return ids.length === 0 ? NO_WINDOWS : liveWindowsOf({ read: this.#parts.store.work }, ids);
  }

  async #declare(changes: readonly DeclaredChange[], until: number): Promise<void> {
    if (this.#isStopped) throw new StoreError('store-closed', 'this process no longer applies changes');
    await this.#parts.sink.declare(changes, until);
    this.#applied = until;
    this.#waits.endWait();
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
  windows: ReadonlyMap<number, LiveWindow>,
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
        // The monitor was removed after this step read its entries. The later
        // entry of the removal has the data that ends the monitor's incident.
        if (monitor === null && removed === undefined) return [];
        return [{ kind, monitorId, monitor, removed: readable(removed) }];
      }
      case 'linked': {
        const { kind, monitorId, notificationId, providerType, version } = change;
        // The channel was removed after this change was logged. The removal has an entry of its own.
        return providerType === null ? [] : [{ kind, monitorId, notificationId, providerType, version }];
      }
      case 'unlinked': {
        const { kind, monitorId, notificationId } = change;
        const link = readable(change.link);
        return [{ kind, monitorId, notificationId, link: link && { ...link, notificationId } }];
      }
      case 'channel': {
        const { kind, notificationId, providerType, version } = change;
        return providerType === null ? [] : [{ kind, notificationId, providerType, version }];
      }
      case 'channel-removed':
        return [{ kind: change.kind, notificationId: change.notificationId }];
      case 'maintenance': {
        const { kind, windowId } = change;
        return windowId === null ? [] : [{ kind, windowId, window: windows.get(windowId) ?? null }];
      }
      default:
        return change satisfies never;
    }
  });
}

/**
 * The removed monitors, with the links that they had when they were removed, and the links that these
 * changes ended. If another process unlinked and removed a monitor, this process may have no state of
 * the monitor in memory. Then only these links show in which channels the incident must be closed.
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
