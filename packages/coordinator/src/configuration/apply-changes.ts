import { setImmediate } from 'node:timers/promises';
import type { Logger } from '@svc/shared/log.ts';
import type { LiveMonitor } from '../domain/monitor.ts';
import { type Change, changesAfter, removeChanges } from '../store/changes.ts';
import { removeLinks } from '../store/links.ts';
import type { Secrets } from '../store/secrets.ts';
import type { Store, Transaction } from '../store/store.ts';
import type { ChangeEffects } from './configuration.ts';
import { loadLiveMonitors, type MonitorsInMemory } from './live-monitors.ts';

/** Entries that are applied in one transaction. */
const ENTRIES_PER_STEP = 1_000;
/** ms that a step may hold the thread before the event loop gets a turn. */
const TURN_MS = 8;

/** What changes do to states, incidents and announcements, inside the given transaction. */
export interface EvaluationEffects {
  /** `before` null: created; `after` null: deleted. */
  monitorChanged(tx: Transaction, before: LiveMonitor | null, after: LiveMonitor | null): void;
  /** A channel was linked: during an incident it is told the current status. Writes the link's row. */
  linked(tx: Transaction, monitorId: number, notificationId: number): void;
}

type Parts = {
  readonly store: Store;
  readonly secrets: Secrets;
  readonly monitors: MonitorsInMemory;
  /** Null: memory follows and nothing else. */
  readonly effects: EvaluationEffects | null;
  readonly log: Logger;
};

/**
 * Applies the log of changes, in its order and in steps. One transaction per step holds the effects and the
 * removal of the entries, and memory follows its commit: a crash leaves either both or none.
 *
 * - A monitor is taken as its row says now, once per step: of several changes of one monitor only the last is
 *   seen. One without a row is gone. Its links and its state went with the row.
 * - A link is welcomed after its monitor's own changes, and only while it is there.
 * - After a start memory holds the rows already, so a change that was not applied before the crash finds
 *   nothing to do for a monitor but its state's row.
 */
export class ChangeApplier implements ChangeEffects {
  readonly #parts: Parts;
  #applied = 0;
  #running: Promise<void> = Promise.resolve();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  applied(lastChangeId: number): Promise<void> {
    this.#running = this.#running.then(async () => {
      try {
        while (this.#applied < lastChangeId) if ((await this.#step()) === 0) return;
      } catch (error) {
        this.#parts.log.error(
          { error },
          'changes of the declaration could not be applied: tried again with the next one',
        );
      }
    });
    return this.#running;
  }

  /** What an earlier process has left. */
  resume(): Promise<void> {
    return this.applied(Number.MAX_SAFE_INTEGER);
  }

  /** Answers how many entries there were. */
  async #step(): Promise<number> {
    const { store, secrets } = this.#parts;
    const changes = await changesAfter(store, this.#applied, ENTRIES_PER_STEP);
    const last = changes.at(-1);
    if (last === undefined) return 0;
    const ids = changes.flatMap((change) => (change.kind === 'monitor' ? [change.monitorId] : []));
    const current = await loadLiveMonitors(store, secrets, [...new Set(ids)]);
    await store.transaction(async (tx) => {
      await this.#apply(tx, changes, current);
      const { sql, rows } = removeChanges(last.id);
      await tx.runEach(sql, rows);
    });
    this.#applied = last.id;
    return changes.length;
  }

  async #apply(
    tx: Transaction,
    changes: readonly Change[],
    current: ReadonlyMap<number, LiveMonitor>,
  ): Promise<void> {
    const seen = new Set<number>();
    let turnBegan = performance.now();
    for (const change of changes) {
      if (change.kind === 'monitor' && !seen.has(change.monitorId)) {
        seen.add(change.monitorId);
        this.#replace(tx, change.monitorId, current.get(change.monitorId) ?? null);
      } else if (change.kind === 'linked') await this.#welcome(tx, change);
      if (performance.now() - turnBegan < TURN_MS) continue;
      await setImmediate();
      turnBegan = performance.now();
    }
  }

  #replace(tx: Transaction, id: number, after: LiveMonitor | null): void {
    const { monitors, effects } = this.#parts;
    const before = monitors.get(id) ?? null;
    if (before === null && after === null) return;
    effects?.monitorChanged(tx, before, after);
    tx.onCommit(() => monitors.replace(before, after));
  }

  async #welcome(tx: Transaction, { monitorId, notificationId }: Change & { kind: 'linked' }): Promise<void> {
    const { effects } = this.#parts;
    if (effects === null) return;
    // The evaluation welcomes a link with the row that it writes itself.
    const isLinked = (await removeLinks(tx, notificationId, [monitorId])) > 0;
    if (isLinked) effects.linked(tx, monitorId, notificationId);
  }
}
