import { mapInTurns } from '@svc/shared/collections.ts';
import {
  type Filter,
  type ListScope,
  listResources,
  type Page,
} from '../store/declaration/resource-lists.ts';
import { findResource, type ResourceTable, type Row } from '../store/declaration/resources.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import type { Readable } from '../store/queries.ts';
import type { Store } from '../store/store.ts';
import type { KindIn } from './kinds/kind-tables.ts';
import { KINDS } from './kinds/registry.ts';
import type { SecretsShown, StoredIn } from './stored.ts';

export type Listed<T> = { readonly data: T[]; readonly total: number };

/**
 * Reads declared resources over `Store.read`. A resource of another workspace is not found
 * (null). The caller decides whether secrets are decrypted (`open`) or masked.
 */
export class Reading {
  readonly #store: Store;
  readonly #secrets: Secrets;

  constructor(store: Store, secrets: Secrets) {
    this.#store = store;
    this.#secrets = secrets;
  }

  /** Finds a resource; null: it does not exist in the workspace, or is not on the page that `scope` names. */
  async findStored<T extends ResourceTable>(
    table: T,
    scope: ListScope,
    id: number,
    shown: SecretsShown,
  ): Promise<StoredIn<T> | null> {
    const row = await this.#row(table, scope, id);
    if (row === null) return null;
    const [found = null] = await storedIn({ source: this.#store, secrets: this.#secrets, shown }, table, [
      row,
    ]);
    return found;
  }

  /**
   * Finds the kind of a resource; null when {@link findStored} returns
   * null. The kind can be read even if the resource's attributes cannot.
   */
  async kindOf<T extends ResourceTable>(table: T, scope: ListScope, id: number): Promise<KindIn<T> | null> {
    const row = await this.#row(table, scope, id);
    return row === null ? null : KINDS[table].kindOf(row);
  }

  async #row<T extends ResourceTable>(
    table: T,
    { workspaceId, pageId }: ListScope,
    id: number,
  ): Promise<Row<T> | null> {
    const row = await findResource(this.#store, table, workspaceId, id);
    if (row === undefined) return null;
    return pageId !== undefined && 'page_id' in row && row.page_id !== pageId ? null : row;
  }

  /** Lists a page of resources by ascending id, and counts all that match. */
  async listStored<T extends ResourceTable>(
    table: T,
    scope: ListScope,
    page: Page,
    shown: SecretsShown,
    filter: Filter = {},
  ): Promise<Listed<StoredIn<T>>> {
    const { rows, total } = await listResources(this.#store, table, scope, page, filter);
    return {
      data: await storedIn({ source: this.#store, secrets: this.#secrets, shown }, table, rows),
      total,
    };
  }
}

/**
 * Converts rows to resources. The event loop gets turns between the rows.
 *
 * @throws StoreError `store-key` when secrets cannot be decrypted, `store-unreadable`
 */
export async function storedIn<T extends ResourceTable>(
  { source, secrets, shown }: { source: Readable; secrets: Secrets; shown: SecretsShown },
  table: T,
  rows: readonly Row<T>[],
): Promise<StoredIn<T>[]> {
  const { resourceOf, linkedIds } = KINDS[table];
  const ids = rows.map(({ id }) => id);
  const links = await linkedIds?.(source, ids);
  return mapInTurns(rows, (row) => resourceOf(secrets, row, shown, links?.get(row.id) ?? []));
}
