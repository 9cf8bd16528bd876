import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '@svc/shared/clock.ts';
import { LIMITS } from '@svc/shared/limits.ts';
import { appendChanges } from '../../store/declaration/changes.ts';
import { existingResources } from '../../store/declaration/resources.ts';
import {
  countWindows,
  endWindow,
  findWindow,
  insertWindow,
  removeWindow,
  replaceWindow,
  type StoredWindow,
  type WindowContent,
} from '../../store/incidents/maintenance-windows.ts';
import { type Mute, muteIdOf, removeMute, setMute } from '../../store/incidents/mutes.ts';
import { wholeMs } from '../../store/queries.ts';
import type { Store, Transaction } from '../../store/store.ts';
import type { WindowTimes } from '../../verdict/maintenance-window.ts';
import type { ChangeEffects } from '../configuration.ts';
import { Conflict, NotFound } from '../errors.ts';
import { requireVersion } from '../scope.ts';
import { requireObjects } from './incidents.ts';

type Parts = {
  readonly store: Store;
  readonly effects: ChangeEffects;
  readonly clock: Clock;
  /** Called in the transaction that removes a window, before the window's row is removed. `now`: epoch ms. */
  readonly onRemoval: (tx: Transaction, window: StoredWindow, now: number) => Promise<void>;
};

/** Versions of the row that the caller may change; absent: any version. */
type Versions = { readonly expectedVersions?: readonly number[] };

/**
 * The only way to change maintenance windows and mutes. Each change also appends to the log of changes, which
 * names the changed windows to the leader of each shard. The leader then holds alerts back during a window, or
 * queues the alerts that no window holds back any longer.
 */
export class MaintenanceWindows {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * Runs `work` in one transaction. The promise resolves after the
   * commit, when {@link ChangeEffects.applyUntil} has resolved.
   *
   * @throws StoreError, or the error that `work` throws
   */
  async transaction<T>(workspaceId: number, work: (change: WindowChange) => Promise<T>): Promise<T> {
    const { store, effects, clock, onRemoval } = this.#parts;
    const { outcome, lastChangeId } = await store.declare(async (tx) => {
      const change = new WindowChange(tx, { workspaceId, now: wholeMs(clock.wall()), onRemoval });
      const outcome = await work(change);
      const entries = [...change.changed].map((windowId) => ({ kind: 'maintenance', windowId }) as const);
      return { outcome, lastChangeId: await appendChanges(tx, entries) };
    });
    if (lastChangeId !== null) await effects.applyUntil(lastChangeId);
    return outcome;
  }
}

type ChangeParts = Pick<Parts, 'onRemoval'> & {
  readonly workspaceId: number;
  /** The instant of the change, epoch ms. */
  readonly now: number;
};

/**
 * A change of maintenance windows and mutes within a transaction.
 * The object can be used only while its `work` runs.
 */
class WindowChange {
  readonly tx: Transaction;
  /** Ids of the windows and mutes that this change has created, changed or removed. */
  readonly changed = new Set<number>();
  readonly #workspaceId: number;
  /** The instant of the change, epoch ms. */
  readonly #now: number;
  readonly #onRemoval: Parts['onRemoval'];

  constructor(tx: Transaction, { workspaceId, now, onRemoval }: ChangeParts) {
    this.tx = tx;
    this.#workspaceId = workspaceId;
    this.#now = now;
    this.#onRemoval = onRemoval;
  }

  /**
   * Creates a window. Returns its id.
   *
   * @throws InvalidReference, Conflict `too-many`
   */
  async create(content: WindowContent): Promise<number> {
    await this.#require(content);
    if ((await countWindows(this.tx, this.#workspaceId)) >= LIMITS.maintenanceWindows)
      throw new Conflict(
        'too-many',
        `a workspace may have ${LIMITS.maintenanceWindows} maintenance windows: remove those that are over`,
      );
    const id = await insertWindow(this.tx, this.#workspaceId, content, this.#now);
    this.changed.add(id);
    return id;
  }

  /**
   * Replaces the content of the window. If the content is unchanged, nothing is
   * written. A window that people ended stays ended, unless its times change.
   *
   * @throws NotFound, PreconditionFailed, InvalidReference
   */
  async replace(id: number, content: WindowContent, versions: Versions): Promise<void> {
    const before = await this.#find(id, versions);
    await this.#require(content);
    // A window whose stored time zone is unknown is shown in UTC. Saving it in UTC is therefore a change.
    const isKnown = before.unknownTimeZone === null;
    if (isKnown && isDeepStrictEqual(contentOf(before), contentOf(content))) return;
    const hasSameTimes = isDeepStrictEqual(timesOf(before), timesOf(content));
    await replaceWindow(this.tx, id, content, {
      endedAt: hasSameTimes ? before.endedAt : null,
      now: this.#now,
    });
    this.changed.add(id);
  }

  /**
   * Ends the window now: an occurrence in progress ends, and no later occurrence begins. The time of the
   * window up to now still counts as maintenance. If people ended the window before, nothing is written.
   *
   * @throws NotFound, PreconditionFailed
   */
  async end(id: number, versions: Versions): Promise<void> {
    const { endedAt } = await this.#find(id, versions);
    if (endedAt !== null && endedAt <= this.#now) return;
    await endWindow(this.tx, id, this.#now);
    this.changed.add(id);
  }

  /**
   * Removes the window. The times of its past occurrences count
   * for the uptime again, as if the window had never existed.
   *
   * @throws NotFound, PreconditionFailed
   */
  async remove(id: number, versions: Versions): Promise<void> {
    await this.#onRemoval(this.tx, await this.#find(id, versions), this.#now);
    await removeWindow(this.tx, id);
    this.changed.add(id);
  }

  /**
   * Mutes a monitor until an instant. An earlier mute of the monitor is replaced.
   *
   * @throws NotFound
   */
  async mute(set: Omit<Mute, 'at'>): Promise<Mute> {
    await this.#requireMonitor(set.monitorId);
    const mute = { ...set, at: this.#now };
    await setMute(this.tx, mute);
    this.changed.add(muteIdOf(set.monitorId));
    return mute;
  }

  /**
   * Ends the mute of a monitor. If the monitor has no mute, nothing is written.
   *
   * @throws NotFound
   */
  async unmute(monitorId: number): Promise<void> {
    await this.#requireMonitor(monitorId);
    if (await removeMute(this.tx, monitorId)) this.changed.add(muteIdOf(monitorId));
  }

  async #requireMonitor(id: number): Promise<void> {
    const existing = await existingResources(this.tx, 'monitors', this.#workspaceId, [id]);
    if (!existing.has(id)) throw new NotFound(`there is no monitor ${id}`);
  }

  async #find(id: number, { expectedVersions }: Versions): Promise<StoredWindow> {
    const found = await findWindow(this.tx, this.#workspaceId, id);
    if (found === null) throw new NotFound(`there is no maintenance window ${id}`);
    requireVersion(`maintenance window ${id}`, found.rowVersion, expectedVersions);
    return found;
  }

  #require({ monitorIds, pageIds, componentIds }: WindowContent): Promise<void> {
    return requireObjects(this.tx, this.#workspaceId, [
      { member: 'monitor_ids', table: 'monitors', ids: monitorIds },
      { member: 'page_ids', table: 'status_pages', ids: pageIds },
      { member: 'component_ids', table: 'components', ids: componentIds },
    ]);
  }
}

/** The values of a window that people set, with sorted ids, so that two windows can be compared. */
function contentOf({ title, text, monitorIds, pageIds, componentIds, ...times }: WindowContent) {
  const sorted = (ids: readonly number[]) => [...ids].sort((a, b) => a - b);
  return {
    title,
    text,
    times: timesOf(times),
    targets: [monitorIds, pageIds, componentIds].map(sorted),
  };
}

function timesOf({ startsAt, endsAt, timeZone, repeat }: Omit<WindowTimes, 'endedAt'>) {
  return { startsAt, endsAt, timeZone, repeat };
}
