import type { NamedRow, NewRow, ResourceTable, Row, RowChange } from '../../store/declaration/resources.ts';
import type { Secrets } from '../../store/declaration/secrets.ts';
import type { Readable } from '../../store/reading-of.ts';
import type { ShownBy } from '../configuration.ts';
import type { ChangeScope } from '../scope.ts';
import type { SecretsShown, StoredIn } from '../stored.ts';
import type { AttributesIn, KindIn } from './kinds.ts';

/** Columns that attributes do not make. */
type OtherColumns =
  | ('id' | 'workspace_id' | 'owner' | 'local_name' | 'row_version' | 'created_at' | 'updated_at')
  | (
      | 'probe_version'
      | 'activated_at'
      | 'state'
      | 'state_reason'
      | 'stopped_at'
      | 'published'
      | 'theme'
      | 'latency'
    );

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
 * Everything that the configuration knows about the resources of one table. `writing.ts` and `reading.ts` have what
 * is the same for all kinds. The definition (`packages/shared/src/resources/`) has what users see, and which attributes
 * are references or secrets.
 */
export type Kind<T extends ResourceTable> = {
  kindOf(row: NamedRow<T>): KindIn<T>;
  /**
   * The columns for these attributes. Each attribute is stored once: in a column when the database must see it, sealed
   * when it is secret, otherwise in the JSON of `attributes`.
   */
  columnsOf(secrets: Secrets, attributes: AttributesIn<T>): AttributeColumns<T>;
  /** The columns to write when secrets are sealed anew under another key. */
  readonly sealedColumns: readonly (keyof AttributeColumns<T>)[];
  /** Ids in attributes that another table stores, ascending, by row. A row without any is missing. */
  linkedIds?(source: Readable, ids: readonly number[]): Promise<ReadonlyMap<number, readonly number[]>>;
  /**
   * The resource of a row.
   *
   * @param linked the ids that {@link linkedIds} found for the row
   * @throws StoreError `store-key` when its secrets do not open, `store-unreadable`
   */
  resourceOf(secrets: Secrets, row: Row<T>, shown: SecretsShown, linked: readonly number[]): StoredIn<T>;
  /**
   * The check of rules over other rows and the operator's, except that references exist.
   *
   * @param together the attributes of all resources that are written together; each is checked before any is written
   */
  checkFor?(scope: ChangeScope, together: readonly AttributesIn<T>[]): Promise<Check<T>> | Check<T>;
  /** Columns of a new row beside those of its attributes. */
  initialColumns?(scope: ChangeScope): RowChange<T>;
  /** Columns that an update writes beside those of its attributes. */
  revisedColumns?(
    scope: ChangeScope,
    row: Row<T>,
    before: AttributesIn<T>,
    after: AttributesIn<T>,
  ): RowChange<T>;
  /**
   * Writes what follows from new attributes: other rows, and entries in the log of changes.
   *
   * @param before null for a new resource
   */
  afterWrite?(
    scope: ChangeScope,
    id: number,
    before: Written<T> | null,
    after: AttributesIn<T>,
  ): Promise<void> | void;
  /**
   * Removes or changes what refers to these rows, before they are removed. Its entries in the log of changes must have
   * the content of the rows.
   *
   * @throws Conflict `in-use`, `declared-in-file`
   */
  beforeRemoval?(scope: ChangeScope, rows: readonly Row<T>[], shownBy: ShownBy): Promise<void> | void;
};

/**
 * Checks one of the resources that are written together.
 *
 * @param id null for a new resource
 * @throws InvalidReference, Conflict, DeniedEndpoint
 */
export type Check<T extends ResourceTable> = (
  attributes: AttributesIn<T>,
  id: number | null,
) => Promise<void> | void;

/** A resource before a change. */
export type Written<T extends ResourceTable> = { readonly row: Row<T>; readonly attributes: AttributesIn<T> };
