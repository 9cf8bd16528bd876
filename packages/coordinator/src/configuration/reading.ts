import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Database } from '../store/schema.ts';
import type { Secrets } from '../store/secrets.ts';
import type { Store } from '../store/store.ts';
import type { ResourceTable } from './kinds.ts';
import { linkedMonitorIds } from './links.ts';
import type { Row, SecretsShown } from './rows.ts';
import {
  type StoredComponent,
  type StoredGroup,
  type StoredMonitor,
  type StoredNotification,
  type StoredPage,
  storedComponent,
  storedGroup,
  storedMonitor,
  storedNotification,
  storedPage,
} from './stored.ts';

/** A part of a list by ascending id. */
export type Page = { readonly limit: number; readonly offset: number };
/** Case does not matter for the letters of ASCII. Of pages the title and the slug count as names. */
export type Filter = { readonly nameContains?: string; readonly type?: string };
export type Listed<T> = { readonly data: T[]; readonly total: number };

/**
 * The declared resources as the API answers them, read on the reading thread. Ids of other workspaces
 * are not there (null). `shown` decides about secrets: `open` is for callers who may write.
 */
export class Reading {
  readonly #db: Kysely<Database>;
  readonly #secrets: Secrets;

  constructor(store: Store, secrets: Secrets) {
    this.#db = store.read;
    this.#secrets = secrets;
  }

  async monitor(workspaceId: number, id: number, shown: SecretsShown): Promise<StoredMonitor | null> {
    const row = await this.#one('monitors', workspaceId, id);
    return row === null ? null : storedMonitor(this.#secrets, row, shown);
  }

  async monitors(
    workspaceId: number,
    page: Page,
    shown: SecretsShown,
    filter: Filter = {},
  ): Promise<Listed<StoredMonitor>> {
    const { rows, total } = await this.#list(
      'monitors',
      sql`workspace_id = ${workspaceId}${filtered('monitors', filter)}`,
      page,
    );
    return { data: rows.map((row) => storedMonitor(this.#secrets, row, shown)), total };
  }

  async notification(
    workspaceId: number,
    id: number,
    shown: SecretsShown,
  ): Promise<StoredNotification | null> {
    const row = await this.#one('notifications', workspaceId, id);
    if (row === null) return null;
    const links = await linkedMonitorIds(this.#db, [id]);
    return storedNotification(this.#secrets, row, links.get(id) ?? [], shown);
  }

  async notifications(
    workspaceId: number,
    page: Page,
    shown: SecretsShown,
    filter: Filter = {},
  ): Promise<Listed<StoredNotification>> {
    const { rows, total } = await this.#list(
      'notifications',
      sql`workspace_id = ${workspaceId}${filtered('notifications', filter)}`,
      page,
    );
    const links = await linkedMonitorIds(
      this.#db,
      rows.map(({ id }) => id),
    );
    return {
      data: rows.map((row) => storedNotification(this.#secrets, row, links.get(row.id) ?? [], shown)),
      total,
    };
  }

  async statusPage(workspaceId: number, id: number, shown: SecretsShown): Promise<StoredPage | null> {
    const row = await this.#one('status_pages', workspaceId, id);
    return row === null ? null : storedPage(this.#secrets, row, shown);
  }

  async statusPages(
    workspaceId: number,
    page: Page,
    shown: SecretsShown,
    filter: Filter = {},
  ): Promise<Listed<StoredPage>> {
    const { rows, total } = await this.#list(
      'status_pages',
      sql`workspace_id = ${workspaceId}${filtered('status_pages', filter)}`,
      page,
    );
    return { data: rows.map((row) => storedPage(this.#secrets, row, shown)), total };
  }

  /** Null also when it is on another page. */
  async group(workspaceId: number, pageId: number, id: number): Promise<StoredGroup | null> {
    const row = await this.#one('component_groups', workspaceId, id);
    return row?.page_id === pageId ? storedGroup(row) : null;
  }

  async groups(
    workspaceId: number,
    pageId: number,
    page: Page,
    filter: Filter = {},
  ): Promise<Listed<StoredGroup>> {
    const condition = sql`${onPage(workspaceId, pageId)}${filtered('component_groups', filter)}`;
    const { rows, total } = await this.#list('component_groups', condition, page);
    return { data: rows.map(storedGroup), total };
  }

  /** Null also when it is on another page. */
  async component(workspaceId: number, pageId: number, id: number): Promise<StoredComponent | null> {
    const row = await this.#one('components', workspaceId, id);
    return row?.page_id === pageId ? storedComponent(row) : null;
  }

  async components(
    workspaceId: number,
    pageId: number,
    page: Page,
    filter: Filter = {},
  ): Promise<Listed<StoredComponent>> {
    const condition = sql`${onPage(workspaceId, pageId)}${filtered('components', filter)}`;
    const { rows, total } = await this.#list('components', condition, page);
    return { data: rows.map(storedComponent), total };
  }

  async #one<T extends ResourceTable>(table: T, workspaceId: number, id: number): Promise<Row<T> | null> {
    const row = await this.#db
      .selectFrom<ResourceTable>(table)
      .selectAll()
      .where('id', '=', id)
      .where('workspace_id', '=', workspaceId)
      .executeTakeFirst();
    return (row as Row<T> | undefined) ?? null;
  }

  async #list<T extends ResourceTable>(
    table: T,
    condition: RawBuilder<unknown>,
    { limit, offset }: Page,
  ): Promise<{ rows: Row<T>[]; total: number }> {
    const selected = this.#db.selectFrom<ResourceTable>(table).where(sql<boolean>`${condition}`);
    const rows = await selected.selectAll().orderBy('id').limit(limit).offset(offset).execute();
    // The end was seen: counting would go through all rows again, with a filter by name at some length.
    const isEnd = rows.length < limit && (rows.length > 0 || offset === 0);
    const { total } = isEnd
      ? { total: offset + rows.length }
      : await selected.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
    return { rows: rows as unknown as Row<T>[], total };
  }
}

/** What filters look into, by table; null where there are no types. */
const FILTERED: {
  readonly [T in ResourceTable]: { names: readonly RawBuilder<unknown>[]; type: RawBuilder<unknown> | null };
} = {
  monitors: { names: [sql`name`], type: sql`type` },
  notifications: { names: [sql`name`], type: sql`provider_type` },
  status_pages: { names: [sql`json_extract(attributes, '$.title')`, sql`slug`], type: null },
  component_groups: { names: [sql`json_extract(attributes, '$.name')`], type: null },
  components: {
    names: [sql`json_extract(attributes, '$.name')`],
    type: sql`json_extract(attributes, '$.type')`,
  },
};

function filtered(table: ResourceTable, { nameContains, type }: Filter): RawBuilder<unknown> {
  const columns = FILTERED[table];
  const matches = columns.names.map((name) => sql`instr(lower(${name}), lower(${nameContains})) > 0`);
  const byName = nameContains === undefined ? sql`` : sql` AND (${sql.join(matches, sql` OR `)})`;
  return type === undefined || columns.type === null ? byName : sql`${byName} AND ${columns.type} = ${type}`;
}

function onPage(workspaceId: number, pageId: number): RawBuilder<unknown> {
  return sql`workspace_id = ${workspaceId} AND page_id = ${pageId}`;
}
