import type { NamedRow, NewRow, ResourceTable, Row, RowChange } from '../../store/declaration/resources.ts';
import type { Secrets } from '../../store/declaration/secrets.ts';
import type { Readable } from '../../store/queries.ts';
import type { ShownBy } from '../configuration.ts';
import type { ChangeScope } from '../scope.ts';
import type { SecretsShown, StoredIn } from '../stored.ts';
import type { AttributesIn, KindIn } from './kind-tables.ts';

/** Columns that are not made from attributes. */
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

/** Columns that are made from attributes. */
export type AttributeColumns<T extends ResourceTable> = ColumnsByTable[T];

/**
 * The rules by which the resources of one table differ from those of other tables. `writing.ts` and
 * `reading.ts` contain the code that all kinds share. The definition of a kind
 * (`packages/shared/src/resources/`) says what users see, and which attributes are references or secrets.
 */
export type Kind<T extends ResourceTable> = {
  kindOf(row: NamedRow<T>): KindIn<T>;
  /**
   * Returns the columns that store these attributes. An attribute has its own column if
   * SQL statements use it. A secret is encrypted. Ids that the table of links stores
   * have no column. All other attributes are in the JSON of the column `attributes`.
   */
  columnsOf(secrets: Secrets, attributes: AttributesIn<T>): AttributeColumns<T>;
  /** The encrypted columns, which are written again when the key of secrets changes. */
  readonly sealedColumns: readonly (keyof AttributeColumns<T>)[];
  /**
   * Reads the ids in those attributes that are stored as rows of another table. Returns
   * ascending ids, by the id of the resource. A resource without rows in that table is missing.
   */
  linkedIds?(source: Readable, ids: readonly number[]): Promise<ReadonlyMap<number, readonly number[]>>;
  /**
   * Makes the resource of a row.
   *
   * @param linked the ids that {@link linkedIds} found for the row
   * @throws StoreError `store-key` when the row's secrets cannot be
   *   decrypted, `store-unreadable` when its attributes are not valid
   */
  resourceOf(secrets: Secrets, row: Row<T>, shown: SecretsShown, linked: readonly number[]): StoredIn<T>;
  /**
   * Reads the rows that are needed to check these resources, and returns the check. The check covers rules
   * that involve other rows, and rules of the operator. `writing.ts` itself checks that references exist.
   *
   * @param together the attributes of all resources of the
   *   batch. All of them are checked before the first is written
   */
  checkFor?(scope: ChangeScope, together: readonly AttributesIn<T>[]): Promise<Check<T>> | Check<T>;
  /** Columns of a new row in addition to the columns of its attributes. */
  initialColumns?(scope: ChangeScope): RowChange<T>;
  /** Columns that an update writes in addition to the columns of the attributes. */
  revisedColumns?(
    scope: ChangeScope,
    row: Row<T>,
    before: AttributesIn<T>,
    after: AttributesIn<T>,
  ): RowChange<T>;
  /**
   * Called after a row with new or changed attributes is written. Writes other rows and entries of
   * the log, as the attributes require. It is not called when only the owner or the local name changes.
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
   * Called before the rows are removed. Removes or changes other rows that refer to them. If
   * the removal has effects, logs the removal with all that the effects need from the rows.
   *
   * @throws Conflict `in-use`, `declared-in-file`
   */
  beforeRemoval?(scope: ChangeScope, rows: readonly Row<T>[], shownBy: ShownBy): Promise<void> | void;
};

/**
 * Checks one resource of a batch.
 *
 * @param id null for a new resource
 * @throws InvalidReference, Conflict, DeniedEndpoint
 */
export type Check<T extends ResourceTable> = (
  attributes: AttributesIn<T>,
  id: number | null,
) => Promise<void> | void;

/** A stored resource as it was before the change. */
export type Written<T extends ResourceTable> = { readonly row: Row<T>; readonly attributes: AttributesIn<T> };
