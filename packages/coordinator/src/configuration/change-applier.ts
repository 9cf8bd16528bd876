import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { LiveMonitor } from '../domain/monitor.ts';
import type { RemovedMonitor } from '../evaluation/declaration.ts';
import type { DeclaredChange } from '../evaluation/declared-change.ts';
import { type Change, changesAfter } from '../store/changes.ts';
import type { Secrets } from '../store/secrets.ts';
import type { Store } from '../store/store.ts';
import type { ChangeEffects } from './configuration.ts';
import { loadLiveMonitors } from './live-monitors.ts';

/** Entries that are applied at once: some 5 ms of the evaluation. */
const ENTRIES_PER_STEP = 250;

/** Who applies effects; the recorder is one. */
export interface DeclarationSink {
  /**
   * Applies the changes and removes them from the log in one transaction. Resolves after its commit.
   *
   * @param until the last of them in the log
   */
  declare(changes: readonly DeclaredChange[], until: number): Promise<void>;
}

type Parts = {
  readonly store: Store;
  readonly secrets: Secrets;
  readonly sink: DeclarationSink;
  readonly log: Logger;
};

/**
 * Applies the log of changes, in its order and in steps.
 *
 * A monitor is taken as its row says now, once per step: of several changes of one monitor only the last is
 * seen, and one without a row is gone. Effects are found by comparing with what was applied before, so a
 * change that is applied again after a crash does no harm.
 */
export class ChangeApplier implements ChangeEffects {
  readonly #parts: Parts;
  #applied = 0;
  #isStopped = false;
  #running: Promise<void> = Promise.resolve();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Resolves when the changes up to this one are applied, or this is stopped. Never rejects: what fails is logged and tried again with the next change. */
  applied(lastChangeId: number): Promise<void> {
    this.#running = this.#running.then(() => this.#applyUntil(lastChangeId));
    return this.#running;
  }

  /** Applies what an earlier process, or a time without a leader, has left. */
  resume(): Promise<void> {
    return this.applied(Number.MAX_SAFE_INTEGER);
  }

  /** What is not applied stays in the log. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #applyUntil(lastChangeId: number): Promise<void> {
    try {
      while (!this.#isStopped && this.#applied < lastChangeId) {
        if (!(await this.#step())) return;
      }
    } catch (error) {
      if (this.#isStopped) return;
      this.#parts.log.error(
        { error: messageOf(error) },
        'changes of the declaration could not be applied; they are tried again with the next one',
      );
    }
  }

  /** False: there is nothing more in the log. */
  async #step(): Promise<boolean> {
    const { store, secrets, sink } = this.#parts;
    const changes = await changesAfter(store, this.#applied, ENTRIES_PER_STEP);
    const last = changes.at(-1);
    if (last === undefined) return false;
    const ids = changes.flatMap((change) => (change.kind === 'monitor' ? [change.monitorId] : []));
    const current = await loadLiveMonitors(store, secrets, [...new Set(ids)]);
    await sink.declare(declaredChanges(changes, current), last.id);
    this.#applied = last.id;
    return true;
  }
}

function declaredChanges(
  changes: readonly Change[],
  current: ReadonlyMap<number, LiveMonitor>,
): DeclaredChange[] {
  const removed = new Map<number, RemovedMonitor>();
  for (const change of changes) {
    if (change.kind === 'monitor' && change.removed !== null) removed.set(change.monitorId, change.removed);
  }
  const seen = new Set<number>();
  return changes.flatMap((change): DeclaredChange[] => {
    switch (change.kind) {
      case 'monitor': {
        const { kind, monitorId } = change;
        if (seen.has(monitorId)) return [];
        seen.add(monitorId);
        const monitor = current.get(monitorId) ?? null;
        return [{ kind, monitorId, monitor, removed: removed.get(monitorId) ?? null }];
      }
      case 'linked': {
        const { kind, monitorId, notificationId, providerType } = change;
        // The channel is gone since: another entry says so.
        return providerType === null ? [] : [{ kind, monitorId, notificationId, providerType }];
      }
      case 'unlinked': {
        const { kind, monitorId, notificationId, link } = change;
        return [{ kind, monitorId, notificationId, link: { ...link, notificationId } }];
      }
      case 'channel-removed':
        return [{ kind: change.kind, notificationId: change.notificationId }];
      default:
        return change satisfies never;
    }
  });
}
