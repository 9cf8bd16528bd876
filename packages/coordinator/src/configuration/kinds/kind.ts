import type { Readable } from '../../store/reading-of.ts';
import type { NewRow, ResourceTable, Row, RowChange } from '../../store/resources.ts';
import type { Secrets } from '../../store/secrets.ts';
import type { ShownBy } from '../configuration.ts';
import type { ChangeScope } from '../scope.ts';
import type { SecretsShown, StoredIn } from '../stored.ts';
import type { AttributesIn, KindIn } from './kinds.ts';

/** Of a row: who made it, when, and what became of it since. */
type OtherColumns =
  | ('id' | 'workspace_id' | 'owner' | 'local_name' | 'row_version' | 'created_at' | 'updated_at')
  | ('probe_version' | 'activated_at' | 'state' | 'state_reason' | 'published' | 'theme');

interface ColumnsByTable {
  monitors: Omit<NewRow<'monitors'>, OtherColumns>;
  notifications: Omit<NewRow<'notifications'>, OtherColumns>;
  status_pages: Omit<NewRow<'status_pages'>, OtherColumns>;
  component_groups: Omit<NewRow<'component_groups'>, OtherColumns>;
  components: Omit<NewRow<'components'>, OtherColumns>;
}

/** Columns that attributes make. */
export type AttributeColumns<T extends ResourceTable> = ColumnsByTable[T];

/**
 * What the configuration knows of the resources of one table. What all kinds have in common stands in `writing.ts`
 * and `reading.ts`, which ask here; what users see of a kind, its references and its secrets included, in its
 * definition (`packages/shared/src/resources/`).
 */
export type Kind<T extends ResourceTable> = {
  kindOf(row: Row<T>): KindIn<T>;
  /** An attribute is kept once: in a column where the database must see it, sealed where it is secret, else as JSON. */
  columns(secrets: Secrets, attributes: AttributesIn<T>): AttributeColumns<T>;
  /** The columns that hold secrets, and what lies beside them: they are sealed anew under another key. */
  readonly sealed: readonly (keyof AttributeColumns<T>)[];
  /** Ids that attributes name and that another table keeps, ascending, by row; a row without any is missing. */
  linked?(source: Readable, ids: readonly number[]): Promise<ReadonlyMap<number, readonly number[]>>;
  /**
   * The resource that a row keeps.
   *
   * @param linked what {@link linked} found for it
   * @throws StoreError `store-key` when its secrets do not open, `store-unreadable`
   */
  stored(secrets: Secrets, row: Row<T>, shown: SecretsShown, linked: readonly number[]): StoredIn<T>;
  /**
   * Rules over other rows, beside those that references make.
   *
   * @param id null: it is to be made
   * @throws InvalidReference, Conflict
   */
  check?(scope: ChangeScope, attributes: AttributesIn<T>, id: number | null): Promise<void>;
  /** What a new row has beside the columns of its attributes. */
  begun?(scope: ChangeScope): RowChange<T>;
  /** What an update writes beside them. */
  revised?(scope: ChangeScope, row: Row<T>, before: AttributesIn<T>, after: AttributesIn<T>): RowChange<T>;
  /**
   * What follows from new attributes: other rows, and entries in the log of changes.
   *
   * @param before null: it was made
   */
  written?(
    scope: ChangeScope,
    id: number,
    before: Written<T> | null,
    after: AttributesIn<T>,
  ): Promise<void> | void;
  /**
   * What goes, or is left, before the rows of these resources go; what it enters into the log of changes must say
   * what the rows said.
   *
   * @throws Conflict `in-use`, `declared-in-file`
   */
  removing?(scope: ChangeScope, rows: readonly Row<T>[], shownBy: ShownBy): Promise<void> | void;
};

/** A resource as it was before it was written. */
export type Written<T extends ResourceTable> = { readonly row: Row<T>; readonly attributes: AttributesIn<T> };
