import type { PAGE_LATENCIES, THEMES } from '@svc/shared/resources/status-page.ts';
import type { Transaction } from '../store/store.ts';
import type { AttributesOf, MonitorKind, ResourceKind } from './kinds/kinds.ts';

/**
 * Effect of a monitor's removal on the components that show it: they prevent it (`refuse`), are removed with
 * it (`remove`), or stay and show nothing (`keep`).
 */
export type ShownBy = 'refuse' | 'remove' | 'keep';

/** The origin of a change: a request of the HTTP API, or the declared file. */
export type Actor = 'api' | 'file';

export type ChangeContext = { readonly workspaceId: number; readonly actor: Actor };

/**
 * The only way to change declared resources. It writes the rows, all of them or none, with an entry in the
 * log of changes. The leading process applies the effects (votes that end, announcements, scheduling, the
 * monitors in memory) from that log; see {@link ChangeEffects}.
 */
export interface Configuration {
  /**
   * Runs `work` in one transaction of the store. Transactions queue behind each other and behind the
   * recorder, so `work` must wait only for this change. When it throws, everything is rolled back and the
   * error is passed on. The answer comes after the commit and, where this process leads, after the effects.
   *
   * @throws ConfigurationError (`NotFound`, `Conflict`, `InvalidReference`, `PreconditionFailed`)
   * @throws StoreError when the database fails (full disk, …)
   */
  transaction<T>(context: ChangeContext, work: (change: ConfigurationChange) => Promise<T>): Promise<T>;
  /**
   * Releases the entries of the declared file: they stay and become editable over the API. To be called at a
   * start without a declared file. The entries keep their local names, by which a later file takes them over
   * again. Answers how many entries there were.
   */
  releaseFileOwnership(): Promise<number>;
}

/**
 * A change, open only while its `work` runs. Attributes are normalized (parsed by the resource's schema,
 * defaults filled in), with secrets in clear. References are decimal ids as strings, as in the API, and must
 * belong to the same workspace.
 */
export interface ConfigurationChange {
  readonly context: ChangeContext;
  /**
   * The transaction itself, for data that the store must keep together with the change (facts, idempotency
   * keys).
   */
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
   * Replaces all attributes. Equal attributes write nothing and keep the row's version. A change by the API
   * fails for a resource of the file; a change by the file takes over an existing resource with `declared`.
   *
   * @param options.expectedVersions versions of the row that the caller would replace
   * @throws NotFound, PreconditionFailed, InvalidReference, Immutable, Conflict `taken` or `declared-in-file`
   */
  update<K extends ResourceKind>(
    kind: K,
    id: number,
    attributes: AttributesOf<K>,
    options?: { expectedVersions?: readonly number[]; declared?: { localName: string } },
  ): Promise<void>;

  /**
   * Removes a resource with its dependants: a page's components and groups, a monitor's and a channel's
   * links. A group's components stay, without a group. The removal of a monitor that components show is
   * refused, unless `shownBy` removes those components too, or keeps them, showing nothing.
   *
   * @throws NotFound, PreconditionFailed, Conflict `in-use` or `declared-in-file`
   */
  remove<K extends ResourceKind>(
    kind: K,
    id: number,
    options?: { shownBy?: ShownBy; expectedVersions?: readonly number[] },
  ): Promise<void>;

  /**
   * As {@link create} for each entry, in a few statements for all of them. The ids have the order of the
   * entries.
   */
  createAll<K extends ResourceKind>(
    kind: K,
    entries: readonly { attributes: AttributesOf<K>; declared?: { localName: string } }[],
  ): Promise<number[]>;

  /**
   * As {@link update} for each entry, in a few statements for all of them. The error of a refused entry has its
   * index.
   *
   * @param entries each resource once
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

  /** As {@link remove} for each of these, in a few statements for all of them. */
  removeAll<K extends ResourceKind>(kind: K, ids: readonly number[]): Promise<void>;

  /**
   * As {@link remove}, components included, for each of these monitors of any type, in a few statements for
   * all of them.
   *
   * @throws NotFound, Conflict `declared-in-file`
   */
  removeMonitors(ids: readonly number[]): Promise<void>;

  /**
   * Sets the appearance, which people choose beside the declaration, on pages of either owner.
   *
   * @throws NotFound, PreconditionFailed
   */
  setAppearance(
    pageId: number,
    appearance: PageAppearance,
    options?: { expectedVersions?: readonly number[] },
  ): Promise<void>;

  /**
   * Marks a channel that cannot deliver (an operator's setting is missing), or that can deliver again. The
   * row version stays.
   */
  setChannelState(notificationId: number, state: 'ok' | 'failing', reason: string | null): Promise<void>;

  /**
   * Gives the event loop a turn when this change has held it for long (about 10 ms). The methods above do so
   * themselves; call it in long loops between them.
   */
  giveTurn(): Promise<void>;
}

/** The work after changes were logged. */
export interface ChangeEffects {
  /**
   * Called after each commit that appended to the log, with the id of its last entry. Where this process
   * leads, it resolves when the effects of the log up to that entry are applied, or when it stops leading;
   * where another process leads, it resolves at once. It never rejects: the rows are committed, and unapplied
   * changes stay in the log.
   */
  applyUntil(lastChangeId: number): Promise<void>;
}

/** What people choose of a page beside its declaration. What is left out stays. */
export type PageAppearance = {
  readonly published?: boolean;
  readonly theme?: (typeof THEMES)[number];
  readonly latency?: (typeof PAGE_LATENCIES)[number];
};

/** Judges drafts of resources. */
export interface Drafts {
  /**
   * Checks a monitor as its creation does, beyond its schema, and changes nothing.
   *
   * @throws ConfigurationError
   */
  checkMonitor(attributes: AttributesOf<MonitorKind>): void;
}
