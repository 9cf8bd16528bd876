import type { THEMES } from '@svc/shared/resources/status-page.ts';
import type { Transaction } from '../store/store.ts';
import type { AttributesOf, ResourceKind } from './kinds/kinds.ts';

/**
 * What becomes of the components that show a removed monitor: they keep it from being removed, go with it, or stay
 * and show nothing.
 */
export type ShownBy = 'refuse' | 'remove' | 'keep';

/** Who changes the declarations: a request of the HTTP API, or the declared file. */
export type Actor = 'api' | 'file';

export type ChangeContext = { readonly workspaceId: number; readonly actor: Actor };

/**
 * The one way in which declared resources change: rows first, all of them or none, with an entry in the log
 * of changes. What follows from them (votes that end, announcements, scheduling, the monitors in memory) is
 * done by whoever leads, from that log; see {@link ChangeEffects}.
 */
export interface Configuration {
  /**
   * Runs `work` in one transaction of the store; transactions queue behind each other and behind the
   * recorder, so `work` must not wait for anything but this change. When it throws, everything is rolled
   * back and the error is passed on. It answers after the commit and, where this process leads, after the
   * effects.
   *
   * @throws ConfigurationError (`NotFound`, `Conflict`, `InvalidReference`, `PreconditionFailed`)
   * @throws StoreError when the database could not do it (full disk, …)
   */
  transaction<T>(context: ChangeContext, work: (change: ConfigurationChange) => Promise<T>): Promise<T>;
  /**
   * Without a declared file its entries stay and become editable over the API: to be called at a start
   * without one. They keep their local names, by which a later file takes them over again. Answers how
   * many there were.
   */
  releaseFileOwnership(): Promise<number>;
}

/**
 * Open only while the `work` it was given to runs. Attributes are normalized ones (parsed by the
 * resource's schema, defaults filled in), secrets in clear; references are decimal ids as text, as in
 * the API, and must belong to the same workspace.
 */
export interface ConfigurationChange {
  readonly context: ChangeContext;
  /** The transaction itself, for what the store must keep together with the change (facts, idempotency keys). */
  readonly tx: Transaction;

  /**
   * @param declared key of the entry in the declared file, with which it is owned by the file from now on
   * @returns the new id
   * @throws InvalidReference, Conflict `taken`
   */
  create<K extends ResourceKind>(
    kind: K,
    attributes: AttributesOf<K>,
    declared?: { localName: string },
  ): Promise<number>;

  /**
   * Replaces all attributes. Equal attributes write nothing and leave the row's version alone. By the
   * API it fails for what the file owns; by the file, `declared` takes over what exists already.
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
   * Removes the resource with what makes no sense without it: a page's components and groups, a
   * monitor's and a channel's links. A group's components stay, without a group. A monitor that
   * components show is refused, unless `shownBy` removes those too, or leaves them in place, showing nothing.
   *
   * @throws NotFound, PreconditionFailed, Conflict `in-use` or `declared-in-file`
   */
  remove<K extends ResourceKind>(
    kind: K,
    id: number,
    options?: { shownBy?: ShownBy; expectedVersions?: readonly number[] },
  ): Promise<void>;

  /**
   * As {@link create} for each of the entries, in a few statements for all of them. The ids are in their order.
   */
  createAll<K extends ResourceKind>(
    kind: K,
    entries: readonly { attributes: AttributesOf<K>; declared?: { localName: string } }[],
  ): Promise<number[]>;

  /**
   * As {@link remove}, components included, for each of these monitors, of whatever type, in a few statements for all.
   *
   * @throws NotFound, Conflict `declared-in-file`
   */
  removeMonitors(ids: readonly number[]): Promise<void>;

  /**
   * What people set beside the declaration, on pages of either owner.
   *
   * @throws NotFound, PreconditionFailed
   */
  setAppearance(
    pageId: number,
    appearance: { published?: boolean; theme?: PageTheme },
    options?: { expectedVersions?: readonly number[] },
  ): Promise<void>;

  /** Marks a channel that cannot deliver (an operator's setting is missing), or one that can again. Not a new row version. */
  setChannelState(notificationId: number, state: 'ok' | 'failing', reason: string | null): Promise<void>;

  /**
   * Lets the event loop turn when this change has held it for long (about 10 ms). The methods above do so
   * by themselves; call it in long loops of other work between them.
   */
  breathe(): Promise<void>;
}

/** What is done after changes were logged. */
export interface ChangeEffects {
  /**
   * Called after each commit that appended to the log, with the id of its last entry. Resolves when the effects
   * of the log up to it are applied, where this process leads, or when it stops leading; at once where another
   * does. Never rejects: the rows are committed, and what could not be applied stays in the log.
   */
  applied(lastChangeId: number): Promise<void>;
}

export type PageTheme = (typeof THEMES)[number];
