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
 * The only way to change declared resources. It writes the rows, all of them or none, and appends to the log
 * of changes. The leading process applies the effects from that log: it ends votes, announces, schedules and
 * updates the monitors in memory. See {@link ChangeEffects}.
 */
export interface Configuration {
  /**
   * Runs `work` in one transaction of the store. Transactions queue behind each other and behind the
   * recorder, so `work` must wait only for this change. When `work` throws, everything is rolled back and the
   * error is passed on. The promise resolves after the commit. In the leading process it also waits for the
   * effects.
   *
   * @throws ConfigurationError (`NotFound`, `Conflict`, `InvalidReference`, `PreconditionFailed`)
   * @throws StoreError when the database fails (full disk, …)
   */
  transaction<T>(context: ChangeContext, work: (change: ConfigurationChange) => Promise<T>): Promise<T>;
  /**
   * Releases the resources that a declared file owns. They stay, and the API may change them from now on.
   * Call it at a start without a declared file. The resources keep their local names, so a later file takes
   * them over again. Returns the number of released resources.
   */
  releaseFileOwnership(): Promise<number>;
}

/**
 * A change. It can be used only while its `work` runs. Attributes are normalized (parsed by the resource's
 * schema, defaults filled in), and their secrets are in clear text. References are decimal ids as strings, as
 * in the API. They must belong to the same workspace.
 */
export interface ConfigurationChange {
  readonly context: ChangeContext;
  /** The transaction, for data that must be stored together with the change (facts, idempotency keys). */
  readonly tx: Transaction;

  /**
   * Creates a resource.
   *
   * @param declared key of the entry in the declared file, which owns the resource from now on
   * @returns the new id
   * @throws InvalidReference, Conflict `taken`
   */
  create<K extends ResourceKind>(
    kind: K,
    attributes: AttributesOf<K>,
    declared?: { localName: string },
  ): Promise<number>;

  /**
   * Replaces all attributes. Equal attributes write nothing and keep the row's version. The API cannot change
   * a resource that the file owns. The file takes over an existing resource with `declared`.
   *
   * @param options.expectedVersions versions of the row that the caller may replace
   * @throws NotFound, PreconditionFailed, InvalidReference, Immutable, Conflict `taken` or `declared-in-file`
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
   * Like {@link create} for each entry, with a few statements for all. The ids have the order of the entries.
   */
  createAll<K extends ResourceKind>(
    kind: K,
    entries: readonly { attributes: AttributesOf<K>; declared?: { localName: string } }[],
  ): Promise<number[]>;

  /**
   * Like {@link update} for each entry, with a few statements for all. The error for a refused entry has its
   * index.
   *
   * @param entries no resource twice
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

  /** Like {@link remove} for each id, with a few statements for all. */
  removeAll<K extends ResourceKind>(kind: K, ids: readonly number[]): Promise<void>;

  /**
   * Removes monitors of any type with the components that show them, with a few statements for all.
   *
   * @throws NotFound, Conflict `declared-in-file`
   */
  removeMonitors(ids: readonly number[]): Promise<void>;

  /**
   * Sets the appearance of a page. It is no part of the declaration, so a page of the declared file accepts
   * it too.
   *
   * @throws NotFound, PreconditionFailed
   */
  setAppearance(
    pageId: number,
    appearance: PageAppearance,
    options?: { expectedVersions?: readonly number[] },
  ): Promise<void>;

  /**
   * Marks a channel as unable to deliver (a setting of the operator is missing), or as able again. The row
   * version stays.
   */
  setChannelState(notificationId: number, state: 'ok' | 'failing', reason: string | null): Promise<void>;

  /**
   * Gives the event loop a turn when this change has held the thread for about 5 ms. The methods above call
   * it. Callers with long loops of their own call it too.
   */
  giveTurn(): Promise<void>;
}

/** Applies the effects of logged changes. */
export interface ChangeEffects {
  /**
   * Called after each commit that appended to the log, with the id of the last entry. In the leading process
   * it resolves when the effects up to that entry are applied, or when the process stops leading. In another
   * process it resolves at once. It never rejects: the rows are committed, and changes that are not applied
   * stay in the log.
   */
  applyUntil(lastChangeId: number): Promise<void>;
}

/**
 * The appearance of a status page, which people choose beside its declaration. An absent member stays as it
 * is.
 */
export type PageAppearance = {
  readonly published?: boolean;
  readonly theme?: (typeof THEMES)[number];
  readonly latency?: (typeof PAGE_LATENCIES)[number];
};

/** Judges drafts of resources. */
export interface Drafts {
  /**
   * Checks a monitor by the rules that its creation checks after the schema. Changes nothing.
   *
   * @throws ConfigurationError
   */
  checkMonitor(attributes: AttributesOf<MonitorKind>): void;
}
