import type { PAGE_LATENCIES, THEMES } from '@svc/shared/resources/status-page.ts';
import type { Transaction } from '../store/store.ts';
import type { AttributesOf, MonitorKind, ResourceKind } from './kinds/kind-tables.ts';

/**
 * What a monitor's removal does to the components that show the monitor: they prevent the
 * removal (`refuse`), they are removed too (`remove`), or they stay and show nothing (`keep`).
 */
export type ShownBy = 'refuse' | 'remove' | 'keep';

/** The origin of a change: a request of the HTTP API, or the declared file. */
export type Actor = 'api' | 'file';

export type ChangeContext = { readonly workspaceId: number; readonly actor: Actor };

/**
 * The only way to change declared resources. A change writes either all of its rows or none. In
 * the same transaction, it logs the changes that affect monitors, links, channels or alerts.
 * The leader of each shard applies the effects that follow from the log to its shard: it ends
 * votes, queues alerts, schedules checks and updates the monitors in memory. See {@link ChangeEffects}.
 */
export interface Configuration {
  /**
   * Runs `work` in one transaction of the store. The store runs one transaction after the other, and the
   * transactions of the recorder wait too, so `work` must not wait for anything but the operations of its
   * change. When `work` throws, everything is rolled back and the error is passed on. The promise resolves
   * after the commit, when {@link ChangeEffects.applyUntil} has resolved.
   *
   * @throws ConfigurationError when an operation of `work` is refused, or any other error that `work` throws
   * @throws StoreError when the database fails (full disk, …)
   */
  transaction<T>(context: ChangeContext, work: (change: ConfigurationChange) => Promise<T>): Promise<T>;
  /**
   * Releases the resources that a declared file owns, so that the API may change them. Call
   * it at a start without a declared file. The resources stay and keep their local names, so
   * a later declared file takes them over again. Returns the number of released resources.
   */
  releaseFileOwnership(): Promise<number>;
}

/**
 * A change of declared resources within a transaction. It can be used only while its `work` runs.
 *
 * Attributes are normalized (parsed by the resource's schema, with defaults filled in), and
 * their secrets are in clear text. A reference to a resource is the decimal id of that resource
 * as a string, as in the API. The referenced resource must belong to the same workspace.
 */
export interface ConfigurationChange {
  readonly context: ChangeContext;
  /**
   * The transaction, for rows that must be stored together with the change (audit lines, idempotency keys).
   */
  readonly tx: Transaction;

  /**
   * Creates a resource.
   *
   * @param declared name of the entry in the declared file. With `declared`, the file owns the new resource
   * @returns the new id
   * @throws InvalidReference, DeniedEndpoint, Conflict `taken`
   */
  create<K extends ResourceKind>(
    kind: K,
    attributes: AttributesOf<K>,
    declared?: { localName: string },
  ): Promise<number>;

  /**
   * Replaces all attributes. If the attributes, the owner and the local name are unchanged,
   * nothing is written and the row keeps its version. The API cannot change a resource that
   * the file owns. With `declared`, the file takes over an existing resource.
   *
   * @param options.expectedVersions versions of the row that the caller may replace; absent: any version
   * @param options.kept names of attributes that stay as they are
   * @throws NotFound, PreconditionFailed, InvalidReference,
   *   DeniedEndpoint, Immutable, Conflict `taken` or `declared-in-file`
   */
  update<K extends ResourceKind>(
    kind: K,
    id: number,
    attributes: AttributesOf<K>,
    options?: {
      expectedVersions?: readonly number[];
      declared?: { localName: string };
      kept?: readonly string[];
    },
  ): Promise<void>;

  /**
   * Removes a resource and what cannot exist without it: the components and groups of a page, the
   * links of a monitor or channel. The components of a removed group stay, without a group. A
   * monitor that components show is removed only if `shownBy` says what happens to these components.
   *
   * @throws NotFound, PreconditionFailed, Conflict `in-use` or `declared-in-file`
   */
  remove<K extends ResourceKind>(
    kind: K,
    id: number,
    options?: { shownBy?: ShownBy; expectedVersions?: readonly number[] },
  ): Promise<void>;

  /**
   * Like {@link create} for each entry, but with few SQL statements for all entries. The returned ids are
   * in the order of the entries. When an entry is refused, the error contains the index of the entry.
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
   * Removes monitors of any type, and the components that
   * show these monitors, with few SQL statements for all.
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
   * Marks a channel as unable to deliver (for example because a setting of the operator is
   * missing), or as able again. A stopped channel is not marked. The row version does not change.
   *
   * @throws NotFound
   */
  setChannelState(notificationId: number, state: 'ok' | 'failing', reason: string | null): Promise<void>;

  /**
   * Gives the event loop a turn if about 5 ms have passed since its last turn in this change. Every
   * method above calls `giveTurn`. Callers with long loops of their own must call it too.
   *
   * @throws TypeError when the change has ended
   */
  giveTurn(): Promise<void>;
}

/** Applies the effects of logged changes. */
export interface ChangeEffects {
  /**
   * Called after each commit that appended to the log, with the id of the last entry. The promise
   * resolves when the effects up to that entry are applied to all shards that this process leads,
   * when the database fails meanwhile, or when the process stops leading. A process that leads no
   * shard applies nothing, and its promise resolves at once. The promise never rejects, because
   * the rows are committed already. Changes that are not applied stay in the log.
   */
  applyUntil(lastChangeId: number): Promise<void>;
}

/** Settings of a status page that are not declared. A setting that is absent here does not change. */
export type PageAppearance = {
  readonly published?: boolean;
  readonly theme?: (typeof THEMES)[number];
  readonly latency?: (typeof PAGE_LATENCIES)[number];
};

/** Checks drafts of resources, which are not stored. */
export interface Drafts {
  /**
   * Checks the rules that a monitor must satisfy in addition to its schema. Changes nothing.
   *
   * @throws DeniedEndpoint
   */
  checkMonitor(attributes: AttributesOf<MonitorKind>): void;
}
