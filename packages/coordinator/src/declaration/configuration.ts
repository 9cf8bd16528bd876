import type { PAGE_LATENCIES, THEMES } from '@svc/shared/resources/status-page.ts';
import type { Transaction } from '../store/store.ts';
import type { AttributesOf, MonitorKind, ResourceKind } from './kinds/kind-tables.ts';

/**
 * The effect of a monitor's removal on the components that show it: they prevent the removal (`refuse`), they
 * are removed too (`remove`), or they stay and show nothing (`keep`).
 */
export type ShownBy = 'refuse' | 'remove' | 'keep';

/** The origin of a change: a request of the HTTP API, or the declared file. */
export type Actor = 'api' | 'file';

export type ChangeContext = { readonly workspaceId: number; readonly actor: Actor };

/**
 * The only way to change declared resources. A change writes either all of its rows or none, and
 * appends to the log of changes. The leading process applies the effects from that log: it ends
 * votes, announces, schedules and updates the monitors in memory. See {@link ChangeEffects}.
 */
export interface Configuration {
  /**
   * Runs `work` in one transaction of the store. Transactions run one after the other, and those
   * of the recorder wait too, so `work` must not wait for anything but the operations of its
   * change. When `work` throws, everything is rolled back and the error is passed on. The promise
   * resolves after the commit. In the leading process the promise also waits for the effects.
   *
   * @throws ConfigurationError (`NotFound`, `Conflict`, `InvalidReference`, `PreconditionFailed`)
   * @throws StoreError when the database fails (full disk, …)
   */
  transaction<T>(context: ChangeContext, work: (change: ConfigurationChange) => Promise<T>): Promise<T>;
  /**
   * Releases the resources that a declared file owns. The resources stay, and the API may change
   * them from now on. Call it at a start without a declared file. The resources keep their local
   * names, so a later declared file takes them over again. Returns the number of released resources.
   */
  releaseFileOwnership(): Promise<number>;
}

/**
 * A change of declared resources within a transaction. It can be used only while its
 * `work` runs. Attributes are normalized (parsed by the resource's schema, defaults
 * filled in), and their secrets are in clear text. References are decimal ids as strings,
 * as in the API. The resources that references name must belong to the same workspace.
 */
export interface ConfigurationChange {
  readonly context: ChangeContext;
  /**
   * The transaction, for data that must be stored together with the change (audit lines, idempotency keys).
   */
  readonly tx: Transaction;

  /**
   * Creates a resource.
   *
   * @param declared name of the entry in the declared file. With it, the file owns the resource from now on
   * @returns the new id
   * @throws InvalidReference, Conflict `taken`
   */
  create<K extends ResourceKind>(
    kind: K,
    attributes: AttributesOf<K>,
    declared?: { localName: string },
  ): Promise<number>;

  /**
   * Replaces all attributes. Equal attributes write nothing and keep the row's version. The API cannot
   * change a resource that the file owns. With `declared`, the file takes over an existing resource.
   *
   * @param options.expectedVersions versions of the row that the caller may replace
   * @throws NotFound, PreconditionFailed, InvalidReference, Immutable, Conflict `taken` or
   *   `declared-in-file`
   */
  update<K extends ResourceKind>(
    kind: K,
    id: number,
    attributes: AttributesOf<K>,
    options?: { expectedVersions?: readonly number[]; declared?: { localName: string } },
  ): Promise<void>;

  /**
   * Removes a resource with its dependants: the components and groups of a page, the links of a monitor or a
   * channel. The components of a group stay, without a group. A monitor that components show is not removed,
   * unless `shownBy` says what happens to those components.
   *
   * @throws NotFound, PreconditionFailed, Conflict `in-use` or `declared-in-file`
   */
  remove<K extends ResourceKind>(
    kind: K,
    id: number,
    options?: { shownBy?: ShownBy; expectedVersions?: readonly number[] },
  ): Promise<void>;

  /**
   * Like {@link create} for each entry, but with few SQL statements
   * for all entries. The returned ids have the order of the entries.
   */
  createAll<K extends ResourceKind>(
    kind: K,
    entries: readonly { attributes: AttributesOf<K>; declared?: { localName: string } }[],
  ): Promise<number[]>;

  /**
   * Like {@link update} for each entry, but with few SQL statements for all
   * entries. When an entry is refused, the error contains the index of the entry.
   *
   * @param entries at most one for each resource
   */
  updateAll<K extends ResourceKind>(
    kind: K,
    entries: readonly {
      id: number;
      attributes: AttributesOf<K>;
      expectedVersions?: readonly number[];
      declared?: { localName: string };
    }[],
  ): Promise<void>;

  /** Like {@link remove} for each id, but with few SQL statements for all ids. */
  removeAll<K extends ResourceKind>(kind: K, ids: readonly number[]): Promise<void>;

  /**
   * Removes monitors of any type and the components that show them, with few SQL statements for all.
   *
   * @throws NotFound, Conflict `declared-in-file`
   */
  removeMonitors(ids: readonly number[]): Promise<void>;

  /**
   * Sets the appearance of a status page. The appearance is not
   * declared, so it can be set even if the declared file owns the page.
   *
   * @throws NotFound, PreconditionFailed
   */
  setAppearance(
    pageId: number,
    appearance: PageAppearance,
    options?: { expectedVersions?: readonly number[] },
  ): Promise<void>;

  /**
   * Marks a channel as unable to deliver (because a setting of the operator
   * is missing), or as able again. The row version does not change.
   */
  setChannelState(notificationId: number, state: 'ok' | 'failing', reason: string | null): Promise<void>;

  /**
   * Gives the event loop a turn when this change has blocked the thread for about 5 ms. The
   * methods above call `giveTurn`. Callers with long loops of their own must call it too.
   */
  giveTurn(): Promise<void>;
}

/** Applies the effects of logged changes. */
export interface ChangeEffects {
  /**
   * Called after each commit that appended to the log, with the id of the last entry. In the
   * leading process the promise resolves when the effects up to that entry are applied, or when
   * the process stops leading. In another process the promise resolves at once. It never rejects,
   * because the rows are committed already. Changes that are not applied stay in the log.
   */
  applyUntil(lastChangeId: number): Promise<void>;
}

/** Settings of a status page that are not declared. A setting that is absent here does not change. */
export type PageAppearance = {
  readonly published?: boolean;
  readonly theme?: (typeof THEMES)[number];
  readonly latency?: (typeof PAGE_LATENCIES)[number];
};

/** Judges drafts of resources. */
export interface Drafts {
  /**
   * Checks the rules that a new monitor must satisfy in addition to its schema. Changes nothing.
   *
   * @throws ConfigurationError
   */
  checkMonitor(attributes: AttributesOf<MonitorKind>): void;
}
