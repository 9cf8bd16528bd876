import type { Clock } from '@svc/shared/clock.ts';
import type { EgressGuard } from '@svc/shared/egress.ts';
import { appendChanges, type NewChange } from '../store/declaration/changes.ts';
import { setChannelState } from '../store/declaration/channels.ts';
import { findResource, releaseFromFile, updateResources } from '../store/declaration/resources.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import { wholeMs } from '../store/queries.ts';
import type { Store, Transaction } from '../store/store.ts';
import type {
  ChangeContext,
  ChangeEffects,
  Configuration,
  ConfigurationChange,
  Drafts,
  PageAppearance,
  ShownBy,
} from './configuration.ts';
import { NotFound } from './errors.ts';
import {
  type AttributesOf,
  attributesIn,
  kindIn,
  type MonitorKind,
  type ResourceKind,
  TABLE_OF,
} from './kinds/kind-tables.ts';
import { refuseDenied } from './kinds/monitors.ts';
import { ChangeScope, requireVersion, revisionColumns, type WriteOptions } from './scope.ts';
import { createAll, removeAll, updateAll } from './writing.ts';

/** Maximum number of log entries that one SQL statement writes. Writing so many entries takes about 5 ms. */
const CHANGES_PER_WRITE = 1_000;

type Parts = {
  readonly store: Store;
  readonly secrets: Secrets;
  readonly effects: ChangeEffects;
  /** Name of the declared file, for messages; absent: this coordinator has no declared file. */
  readonly declaredFile?: string | undefined;
  /** Decides to which endpoints svc may export metrics. */
  readonly guard: EgressGuard;
  readonly clock: Clock;
};

/** The {@link Configuration} that changes the rows of the store. */
export class StoredConfiguration implements Configuration, Drafts {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async transaction<T>(
    context: ChangeContext,
    work: (change: ConfigurationChange) => Promise<T>,
  ): Promise<T> {
    const { store, secrets, effects, declaredFile = null, guard, clock } = this.#parts;
    const { outcome, lastChangeId } = await store.declare(async (tx) => {
      const scope = new ChangeScope({
        context,
        tx,
        secrets,
        declaredFile,
        guard,
        now: wholeMs(clock.wall()),
      });
      const change = new OpenChange(scope);
      try {
        const outcome = await work(change);
        return { outcome, lastChangeId: await logged(tx, scope.changes) };
      } finally {
        change.end();
      }
    });
    if (lastChangeId !== null) await effects.applyUntil(lastChangeId);
    return outcome;
  }

  checkMonitor(attributes: AttributesOf<MonitorKind>): void {
    refuseDenied(this.#parts.guard, attributes);
  }

  releaseFileOwnership(): Promise<number> {
    return this.#parts.store.transaction(releaseFromFile);
  }
}

/** Appends the entries to the log. Returns the id of the last appended entry; null: there are no entries. */
async function logged(tx: Transaction, changes: readonly NewChange[]): Promise<number | null> {
  let last: number | null = null;
  for (let start = 0; start < changes.length; start += CHANGES_PER_WRITE) {
    last = await appendChanges(tx, changes.slice(start, start + CHANGES_PER_WRITE));
  }
  return last;
}

type Declared = { localName: string };

/** The change that `work` gets. Except {@link end}, its methods throw a TypeError after `work` has ended. */
class OpenChange implements ConfigurationChange {
  readonly #scope: ChangeScope;
  #isEnded = false;

  constructor(scope: ChangeScope) {
    this.#scope = scope;
  }

  get context() {
    return this.#scope.context;
  }

  get tx() {
    return this.#scope.tx;
  }

  async create<K extends ResourceKind>(
    kind: K,
    attributes: AttributesOf<K>,
    declared?: Declared,
  ): Promise<number> {
    const [id = 0] = await this.createAll(kind, [{ attributes, ...(declared && { declared }) }]);
    return id;
  }

  async createAll<K extends ResourceKind>(
    kind: K,
    entries: readonly { attributes: AttributesOf<K>; declared?: Declared }[],
  ): Promise<number[]> {
    await this.giveTurn();
    const creations = entries.map(({ attributes, ...entry }) => ({
      ...entry,
      ...attributesIn(kind, attributes),
    }));
    return createAll(this.#scope, TABLE_OF[kind], creations);
  }

  async update<K extends ResourceKind>(
    kind: K,
    id: number,
    attributes: AttributesOf<K>,
    options: WriteOptions = {},
  ): Promise<void> {
    await this.updateAll(kind, [{ id, attributes, ...options }]);
  }

  async updateAll<K extends ResourceKind>(
    kind: K,
    entries: readonly ({ id: number; attributes: AttributesOf<K> } & WriteOptions)[],
  ): Promise<void> {
    await this.giveTurn();
    const updates = entries.map(({ attributes, ...entry }) => ({
      ...entry,
      ...attributesIn(kind, attributes),
    }));
    return updateAll(this.#scope, TABLE_OF[kind], updates);
  }

  async remove<K extends ResourceKind>(
    kind: K,
    id: number,
    { shownBy = 'refuse', ...options }: { shownBy?: ShownBy; expectedVersions?: readonly number[] } = {},
  ): Promise<void> {
    await this.giveTurn();
    return removeAll(this.#scope, TABLE_OF[kind], [{ id, kind: kindIn(kind), ...options }], shownBy);
  }

  async removeAll<K extends ResourceKind>(kind: K, ids: readonly number[]): Promise<void> {
    await this.giveTurn();
    const removals = ids.map((id) => ({ id, kind: kindIn(kind) }));
    return removeAll(this.#scope, TABLE_OF[kind], removals, 'refuse');
  }

  async removeMonitors(ids: readonly number[]): Promise<void> {
    await this.giveTurn();
    const removals = ids.map((id) => ({ id, kind: null }));
    return removeAll(this.#scope, 'monitors', removals, 'remove');
  }

  async setAppearance(
    pageId: number,
    appearance: PageAppearance,
    options: { expectedVersions?: readonly number[] } = {},
  ): Promise<void> {
    await this.giveTurn();
    return setPageAppearance(this.#scope, pageId, appearance, options);
  }

  async setChannelState(
    notificationId: number,
    state: 'ok' | 'failing',
    reason: string | null,
  ): Promise<void> {
    await this.giveTurn();
    const { workspaceId } = this.context;
    const isThere = await setChannelState(this.tx, workspaceId, notificationId, { state, reason });
    if (!isThere) throw new NotFound(`there is no notification ${notificationId}`);
  }

  giveTurn(): Promise<void> {
    if (this.#isEnded)
      throw new TypeError('this change has ended: its transaction is committed or rolled back');
    return this.#scope.giveTurn();
  }

  end(): void {
    this.#isEnded = true;
  }
}

/**
 * Implements {@link ConfigurationChange.setAppearance}.
 *
 * @throws NotFound, PreconditionFailed
 */
async function setPageAppearance(
  scope: ChangeScope,
  id: number,
  appearance: PageAppearance,
  { expectedVersions }: { expectedVersions?: readonly number[] },
): Promise<void> {
  const row = await findResource(scope.tx, 'status_pages', scope.context.workspaceId, id);
  if (row === undefined) throw new NotFound(`there is no status page ${id}`);
  requireVersion(`status page ${id}`, row.row_version, expectedVersions);
  const published = appearance.published === undefined ? row.published : Number(appearance.published);
  const theme = appearance.theme ?? row.theme;
  const latency = appearance.latency ?? row.latency;
  if (published === row.published && theme === row.theme && latency === row.latency) return;
  const change = { published, theme, latency, ...revisionColumns(scope, row, {}) };
  await updateResources(scope.tx, 'status_pages', [{ id, change }]);
}
