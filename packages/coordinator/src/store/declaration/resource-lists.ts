import { type RawBuilder, sql } from 'kysely';
import { containsText, jsonMember } from '../dialect.ts';
import { type Readable, readingOf } from '../queries.ts';
import { findResources, type ResourceTable, type Row } from './resources.ts';

/** The part of a list to read. Lists are in ascending order of ids. */
export type Page = { readonly limit: number; readonly offset: number };
/**
 * The conditions of a list. `nameContains` ignores the case of ASCII letters. For
 * status pages, it applies to the title and the slug.
 */
export type Filter = { readonly nameContains?: string; readonly type?: string };

/** The scope of a list. */
export type ListScope = {
  readonly workspaceId: number;
  /** Only for groups and components: the status page that they are on. */
  readonly pageId?: number;
};

/** The columns that filters compare, by table. `type` is null for tables without types. */
const FILTERED: {
  readonly [T in ResourceTable]: { names: readonly RawBuilder<unknown>[]; type: RawBuilder<unknown> | null };
} = {
  monitors: { names: [sql`name`], type: sql`type` },
  notifications: { names: [sql`name`], type: sql`provider_type` },
  status_pages: { names: [jsonMember(sql`attributes`, 'title'), sql`slug`], type: null },
  component_groups: { names: [jsonMember(sql`attributes`, 'name')], type: null },
  components: {
    names: [jsonMember(sql`attributes`, 'name')],
    type: jsonMember(sql`attributes`, 'type'),
  },
};

/**
 * The size of a row's large columns, bytes, by table. 0: the size is not counted, because rows of this table
 * have some tens of kilobytes at most, and usually less than one.
 */
const SIZES: { readonly [T in ResourceTable]: RawBuilder<number> } = {
  monitors: sql<number>`octet_length(attributes) + coalesce(octet_length(secrets_sealed), 0)`,
  notifications: sql<number>`octet_length(settings_sealed)`,
  status_pages: sql<number>`0`,
  component_groups: sql<number>`0`,
  components: sql<number>`0`,
};

/**
 * Maximum size of rows that are read in one message, bytes. Receiving a message of this size blocks the main
 * thread for some milliseconds.
 */
const PORTION_BYTES = 1_024 * 1_024;

/** A page of a table's rows by ascending id, and the number of all rows that pass the filter. */
export async function listResources<T extends ResourceTable>(
  source: Readable,
  table: T,
  scope: ListScope,
  { limit, offset }: Page,
  filter: Filter,
): Promise<{ rows: Row<T>[]; total: number }> {
  const selected = readingOf(source)
    .selectFrom<ResourceTable>(table)
    .where(sql<boolean>`${sql.join([...scoped(scope), ...filtered(table, filter)], sql` AND `)}`);
  const listed = await selected
    .select(['id', SIZES[table].as('bytes')])
    .orderBy('id')
    .limit(limit)
    .offset(offset)
    .execute();
  const rows: Row<T>[] = [];
  for (const ids of portionsOf(listed)) {
    const portion = await findResources(source, table, scope.workspaceId, ids);
    rows.push(...portion.sort((one, other) => one.id - other.id));
  }
  // If this page reaches the end of the list, the total is known without a query. Counting would read all
  // rows again, which is slow with a filter by name.
  const isEnd = listed.length < limit && (listed.length > 0 || offset === 0);
  const { total } = isEnd
    ? { total: offset + listed.length }
    : await selected.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
  return { rows, total };
}

/**
 * Splits the ids, in their order, into portions of at most {@link PORTION_BYTES}. A larger row is a portion
 * of its own.
 */
export function portionsOf(listed: readonly { readonly id: number; readonly bytes: number }[]): number[][] {
  const portions: number[][] = [];
  let room = 0;
  for (const { id, bytes } of listed) {
    const last = portions.at(-1);
    if (last !== undefined && bytes <= room) last.push(id);
    else {
      portions.push([id]);
      room = PORTION_BYTES;
    }
    room -= bytes;
  }
  return portions;
}

function scoped({ workspaceId, pageId }: ListScope): RawBuilder<unknown>[] {
  const inWorkspace = sql`workspace_id = ${workspaceId}`;
  return pageId === undefined ? [inWorkspace] : [inWorkspace, sql`page_id = ${pageId}`];
}

function filtered(table: ResourceTable, { nameContains, type }: Filter): RawBuilder<unknown>[] {
  const columns = FILTERED[table];
  const conditions: RawBuilder<unknown>[] = [];
  if (nameContains !== undefined) {
    const matches = columns.names.map((name) => containsText(name, nameContains));
    conditions.push(sql`(${sql.join(matches, sql` OR `)})`);
  }
  if (type !== undefined && columns.type !== null) conditions.push(sql`${columns.type} = ${type}`);
  return conditions;
}
