import { DEFINITIONS } from '@svc/shared/resources/registry.ts';
import {
  findResource,
  findResources,
  insertResources,
  type NewRow,
  type ResourceTable,
  type Row,
  type RowChange,
  removeResources,
  updateResource,
} from '../store/resources.ts';
import type { ShownBy } from './configuration.ts';
import { ConfigurationError, Immutable } from './errors.ts';
import { type AttributesIn, type KindIn, NOUN_OF, type ResourceKind } from './kinds/kinds.ts';
import { KINDS } from './kinds/registry.ts';
import { checkReferences } from './references.ts';
import { sameAttributes } from './same-attributes.ts';
import { type ChangeScope, changesOwnership, revision, type WriteOptions, writable } from './scope.ts';

/*
 * Writes declared resources. This is the same for all kinds; KINDS has what differs between them.
 */

/** Rows that one statement writes or removes; each has a few kilobytes. */
const ROWS_PER_WRITE = 250;

export type Entry<T extends ResourceTable> = {
  readonly kind: KindIn<T>;
  readonly attributes: AttributesIn<T>;
  readonly declared?: { localName: string } | undefined;
};

/** Creates resources. Returns the new ids in the order of the entries. */
export async function createAll<T extends ResourceTable>(
  scope: ChangeScope,
  table: T,
  entries: readonly Entry<T>[],
): Promise<number[]> {
  const made: number[] = [];
  for (let start = 0; start < entries.length; start += ROWS_PER_WRITE) {
    const some = entries.slice(start, start + ROWS_PER_WRITE);
    const rows: NewRow<T>[] = [];
    for (const [index, entry] of some.entries()) {
      rows.push(await newRow(scope, table, entry).catch((error: unknown) => refusedAt(start + index, error)));
    }
    const ids = await insertResources(scope.tx, table, rows);
    for (const [index, { attributes }] of some.entries()) {
      await KINDS[table].written?.(scope, ids[index] ?? 0, null, attributes);
    }
    made.push(...ids);
  }
  return made;
}

function refusedAt(index: number, error: unknown): never {
  if (error instanceof ConfigurationError) error.index = index;
  throw error;
}

async function newRow<T extends ResourceTable>(
  scope: ChangeScope,
  table: T,
  { kind, attributes, declared }: Entry<T>,
): Promise<NewRow<T>> {
  await scope.breathe();
  const { columns, begun, check } = KINDS[table];
  await checkReferences(scope, kind, attributes);
  await check?.(scope, attributes, null);
  return {
    ...columns(scope.secrets, attributes),
    ...scope.creation(declared),
    ...begun?.(scope),
  } as NewRow<T>;
}

/** Replaces all attributes. Equal attributes write nothing, unless the owner changes. */
export async function update<T extends ResourceTable>(
  scope: ChangeScope,
  table: T,
  { id, kind, attributes }: { id: number; kind: KindIn<T>; attributes: AttributesIn<T> },
  options: WriteOptions,
): Promise<void> {
  const entry = KINDS[table];
  const row = writable(scope, table, id, await find(scope, table, id, kind), options);
  const linked = (await entry.linked?.(scope.tx, [id]))?.get(id) ?? [];
  const before = entry.stored(scope.secrets, row, 'open', linked).attributes as AttributesIn<T>;
  const isSame = sameAttributes(before, attributes);
  if (isSame && !changesOwnership(row, options)) return;
  refuseReplacing(table, id, kind, before, attributes);
  await checkReferences(scope, kind, attributes);
  await entry.check?.(scope, attributes, id);
  await updateResource(scope.tx, table, id, {
    ...entry.columns(scope.secrets, attributes),
    ...revision(scope, row, options),
    ...entry.revised?.(scope, row, before, attributes),
  } as RowChange<T>);
  if (!isSame) await entry.written?.(scope, id, { row, attributes: before }, attributes);
}

/** @throws Immutable for an attribute whose change needs a new object */
function refuseReplacing(
  table: ResourceTable,
  id: number,
  kind: ResourceKind,
  before: object,
  after: object,
): void {
  const [was, is] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  for (const [name, { replaces }] of Object.entries(DEFINITIONS[kind].attributes)) {
    if (!replaces || was.get(name) === is.get(name)) continue;
    const message = `${name} of ${NOUN_OF[table]} ${id} cannot be changed: remove it and create another`;
    throw new Immutable(message, [name]);
  }
}

export async function remove<T extends ResourceTable>(
  scope: ChangeScope,
  table: T,
  { id, kind }: { id: number; kind: KindIn<T> },
  { shownBy = 'refuse', ...options }: { shownBy?: ShownBy; expectedVersions?: readonly number[] },
): Promise<void> {
  const row = writable(scope, table, id, await find(scope, table, id, kind), options);
  await removeRows(scope, table, [row], shownBy);
}

/**
 * Removes resources of any kind of the table, with the components that show them.
 *
 * @throws NotFound, Conflict `declared-in-file`
 */
export async function removeAll<T extends ResourceTable>(
  scope: ChangeScope,
  table: T,
  ids: readonly number[],
): Promise<void> {
  for (let start = 0; start < ids.length; start += ROWS_PER_WRITE) {
    const some = ids.slice(start, start + ROWS_PER_WRITE);
    const found = await findResources(scope.tx, table, scope.context.workspaceId, some);
    const byId = new Map(found.map((row) => [row.id, row]));
    const rows = some.map((id) => writable(scope, table, id, byId.get(id)));
    await removeRows(scope, table, rows, 'remove');
  }
}

async function removeRows<T extends ResourceTable>(
  scope: ChangeScope,
  table: T,
  rows: readonly Row<T>[],
  shownBy: ShownBy,
): Promise<void> {
  await KINDS[table].removing?.(scope, rows, shownBy);
  const ids = rows.map(({ id }) => id);
  await removeResources(scope.tx, table, ids);
}

/** A resource of another kind does not belong to this one. */
async function find<T extends ResourceTable>(
  { tx, context }: ChangeScope,
  table: T,
  id: number,
  kind: KindIn<T>,
): Promise<Row<T> | undefined> {
  const row = await findResource(tx, table, context.workspaceId, id);
  return row !== undefined && KINDS[table].kindOf(row) === kind ? row : undefined;
}
