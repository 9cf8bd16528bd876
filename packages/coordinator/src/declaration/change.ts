import { setChannelState } from '../store/declaration/channels.ts';
import { setPageAppearance } from './appearance.ts';
import type { ConfigurationChange, PageAppearance, ShownBy } from './configuration.ts';
import { NotFound } from './errors.ts';
import { type AttributesOf, attributesIn, kindIn, type ResourceKind, TABLE_OF } from './kinds/kinds.ts';
import type { ChangeScope, WriteOptions } from './scope.ts';
import { createAll, removeAll, updateAll } from './writing.ts';

type Declared = { localName: string };

/** The change that a transaction's work gets; it is unusable after the work has ended. */
export class OpenChange implements ConfigurationChange {
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
    await this.breathe();
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
    await this.breathe();
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
    await this.breathe();
    return removeAll(this.#scope, TABLE_OF[kind], [{ id, kind: kindIn(kind), ...options }], shownBy);
  }

  async removeAll<K extends ResourceKind>(kind: K, ids: readonly number[]): Promise<void> {
    await this.breathe();
    const removals = ids.map((id) => ({ id, kind: kindIn(kind) }));
    return removeAll(this.#scope, TABLE_OF[kind], removals, 'refuse');
  }

  async removeMonitors(ids: readonly number[]): Promise<void> {
    await this.breathe();
    const removals = ids.map((id) => ({ id, kind: null }));
    return removeAll(this.#scope, 'monitors', removals, 'remove');
  }

  async setAppearance(
    pageId: number,
    appearance: PageAppearance,
    options: { expectedVersions?: readonly number[] } = {},
  ): Promise<void> {
    await this.breathe();
    return setPageAppearance(this.#scope, pageId, appearance, options);
  }

  async setChannelState(
    notificationId: number,
    state: 'ok' | 'failing',
    reason: string | null,
  ): Promise<void> {
    await this.breathe();
    const { workspaceId } = this.context;
    const isThere = await setChannelState(this.tx, workspaceId, notificationId, { state, reason });
    if (!isThere) throw new NotFound(`there is no notification ${notificationId}`);
  }

  breathe(): Promise<void> {
    if (this.#isEnded)
      throw new TypeError('this change has ended: its transaction is committed or rolled back');
    return this.#scope.breathe();
  }

  end(): void {
    this.#isEnded = true;
  }
}
