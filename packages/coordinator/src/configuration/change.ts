import { setChannelState } from '../store/channels.ts';
import { setPageAppearance } from './appearance.ts';
import type { ConfigurationChange, PageAppearance, ShownBy } from './configuration.ts';
import { NotFound } from './errors.ts';
import { type AttributesOf, attributesIn, kindIn, type ResourceKind, TABLE_OF } from './kinds/kinds.ts';
import type { ChangeScope, WriteOptions } from './scope.ts';
import { createAll, remove, removeAll, update } from './writing.ts';

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
    const rows = entries.map(({ attributes, declared }) => ({ ...attributesIn(kind, attributes), declared }));
    return createAll(this.#scope, TABLE_OF[kind], rows);
  }

  async update<K extends ResourceKind>(
    kind: K,
    id: number,
    attributes: AttributesOf<K>,
    options: WriteOptions = {},
  ): Promise<void> {
    await this.breathe();
    return update(this.#scope, TABLE_OF[kind], { id, ...attributesIn(kind, attributes) }, options);
  }

  async remove<K extends ResourceKind>(
    kind: K,
    id: number,
    options: { shownBy?: ShownBy; expectedVersions?: readonly number[] } = {},
  ): Promise<void> {
    await this.breathe();
    return remove(this.#scope, TABLE_OF[kind], { id, kind: kindIn(kind) }, options);
  }

  async removeMonitors(ids: readonly number[]): Promise<void> {
    await this.breathe();
    return removeAll(this.#scope, 'monitors', ids);
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
