import { DEFINITIONS, isResourceKind, RESOURCE_KINDS } from '@svc/shared/resources/registry.ts';
import {
  existingResources,
  findResources,
  insertResources,
  type NewRow,
  type ResourceTable,
  type Row,
  type RowChange,
  type RowUpdate,
  removeResources,
  updateResources,
} from '../store/declaration/resources.ts';
import type { ShownBy } from './configuration.ts';
import { ConfigurationError, Immutable, InvalidReference } from './errors.ts';
import type { Check, Written } from './kinds/kind.ts';
import {
  type AttributesIn,
  type KindIn,
  MOST_TOGETHER,
  NOUN_OF,
  type ResourceKind,
  replacingAttributes,
  sameAttributes,
  TABLE_OF,
} from './kinds/kind-tables.ts';
import { KINDS } from './kinds/registry.ts';
import {
  type ChangeScope,
  changesOwnership,
  revisionColumns,
  type WriteOptions,
  writableRow,
} from './scope.ts';

/*
 * Writes declared resources, many of them with few SQL statements. The code is the same for all kinds, and
 * `KINDS` has the rules of each kind. The rows that the checks need are read once for all resources of a
 * batch. Then the resources are checked one after the other, so the error names the first wrong resource.
 */

/** The wanted state of a resource. */
export type Wanted<T extends ResourceTable> = {
  readonly kind: KindIn<T>;
  readonly attributes: AttributesIn<T>;
};

export type Creation<T extends ResourceTable> = Wanted<T> & Pick<WriteOptions, 'declared'>;
export type Update<T extends ResourceTable> = Wanted<T> & WriteOptions & { readonly id: number };
export type Removal<T extends ResourceTable> = Pick<WriteOptions, 'expectedVersions'> & {
  readonly id: number;
  /** A row of another kind counts as missing; null: a row of any kind is removed. */
  readonly kind: KindIn<T> | null;
};

/**
 * Creates resources. The returned ids are in the order of the entries.
 *
 * @throws InvalidReference, and the errors of the kind's own check
 */
export async function createAll<T extends ResourceTable>(
  scope: ChangeScope,
  table: T,
  entries: readonly Creation<T>[],
): Promise<number[]> {
  const made: number[] = [];
  for (const { some, start } of batchesOf(table, entries)) {
    const rules = await rulesFor(scope, table, some);
    const rows: NewRow<T>[] = await eachInTurn(scope, some, start, (entry) =>
      newRow(scope, table, entry, rules),
    );
    const ids = await insertResources(scope.tx, table, rows);
    for (const [index, { attributes }] of some.entries()) {
      await KINDS[table].afterWrite?.(scope, ids[index] ?? 0, null, attributes);
    }
    made.push(...ids);
  }
  return made;
}

async function newRow<T extends ResourceTable>(
  scope: ChangeScope,
  table: T,
  entry: Creation<T>,
  rules: Rules<T>,
): Promise<NewRow<T>> {
  const { columnsOf, initialColumns } = KINDS[table];
  await refuseBroken(rules, entry, null);
  return {
    ...columnsOf(scope.secrets, entry.attributes),
    ...scope.creationColumns(entry.declared),
    ...initialColumns?.(scope),
  } as NewRow<T>;
}

/**
 * Replaces all attributes of resources. If the attributes are equal,
 * nothing is written, unless the owner or the local name changes.
 *
 * @param entries at most one for each resource
 * @throws NotFound, PreconditionFailed, Conflict `declared-in-file`, Immutable,
 *   InvalidReference, and the errors of the kind's own check
 */
export async function updateAll<T extends ResourceTable>(
  scope: ChangeScope,
  table: T,
  entries: readonly Update<T>[],
): Promise<void> {
  for (const { some, start } of batchesOf(table, entries)) {
    const present = await presentOf(scope, table, some);
    const rules = await rulesFor(scope, table, some);
    const revisions = await eachInTurn(scope, some, start, (entry) =>
      revised(scope, table, entry, present, rules),
    );
    const changed = revisions.filter((revision) => revision !== null);
    await updateResources(scope.tx, table, changed);
    for (const { id, before, after } of changed) {
      if (before !== null) await KINDS[table].afterWrite?.(scope, id, before, after);
    }
  }
}

/** An update of a row. `before` is null when only the owner or the local name changes. */
type Revision<T extends ResourceTable> = RowUpdate<T> & {
  readonly before: Written<T> | null;
  readonly after: AttributesIn<T>;
};

/** Makes the update of a row; null: the entry changes nothing. */
async function revised<T extends ResourceTable>(
  scope: ChangeScope,
  table: T,
  entry: Update<T>,
  { rows, links }: Present<T>,
  rules: Rules<T>,
): Promise<Revision<T> | null> {
  const { id, kind, kept = [] } = entry;
  const { resourceOf, columnsOf, revisedColumns } = KINDS[table];
  const row = writableRow(scope, table, id, rows.get(id), entry);
  const before = resourceOf(scope.secrets, row, 'open', links?.get(id) ?? []).attributes as AttributesIn<T>;
  const stays = Object.entries(before).filter(([name]) => kept.includes(name));
  const attributes = { ...entry.attributes, ...Object.fromEntries(stays) };
  const isSame = sameAttributes(before, attributes);
  if (isSame && !changesOwnership(row, entry)) return null;
  refuseReplacing(table, id, kind, before, attributes);
  await refuseBroken(rules, entry, id);
  const change = {
    ...columnsOf(scope.secrets, attributes),
    ...revisionColumns(scope, row, entry),
    ...revisedColumns?.(scope, row, before, attributes),
  } as RowChange<T>;
  return { id, change, before: isSame ? null : { row, attributes: before }, after: attributes };
}

type Members = Readonly<Record<string, unknown>>;

/**
 * Refuses an update of an attribute that cannot be changed in an existing resource.
 *
 * @throws Immutable
 */
function refuseReplacing(
  table: ResourceTable,
  id: number,
  kind: ResourceKind,
  before: object,
  after: object,
): void {
  const [was, is] = [before, after] as [Members, Members];
  for (const name of replacingAttributes(kind)) {
    if (was[name] === is[name]) continue;
    const message = `${name} of ${NOUN_OF[table]} ${id} cannot be changed: remove it and create another`;
    throw new Immutable(message, [name]);
  }
}

/**
 * Removes resources.
 *
 * @throws NotFound, PreconditionFailed, Conflict `in-use` or `declared-in-file`
 */
export async function removeAll<T extends ResourceTable>(
  scope: ChangeScope,
  table: T,
  removals: readonly Removal<T>[],
  shownBy: ShownBy,
): Promise<void> {
  for (const { some } of batchesOf(table, removals)) {
    const found = await foundRows(scope, table, some);
    const rows = some.map((removal) => writableRow(scope, table, removal.id, found.get(removal.id), removal));
    await KINDS[table].beforeRemoval?.(scope, rows, shownBy);
    await removeResources(
      scope.tx,
      table,
      rows.map(({ id }) => id),
    );
  }
}

/**
 * Splits the entries into batches that are written together.
 * `start` is the number of entries that precede the batch.
 */
function* batchesOf<E>(
  table: ResourceTable,
  entries: readonly E[],
): Generator<{ readonly some: readonly E[]; readonly start: number }> {
  const most = MOST_TOGETHER[table];
  for (let start = 0; start < entries.length; start += most) {
    yield { some: entries.slice(start, start + most), start };
  }
}

/**
 * Runs `work` for one entry after the other. When `work` refuses
 * an entry, the index of the entry is added to the error.
 *
 * @param start number of entries that precede these entries
 */
async function eachInTurn<E, R>(
  scope: ChangeScope,
  entries: readonly E[],
  start: number,
  work: (entry: E) => Promise<R>,
): Promise<R[]> {
  const done: R[] = [];
  for (const [index, entry] of entries.entries()) {
    await scope.giveTurn();
    try {
      done.push(await work(entry));
    } catch (error) {
      if (error instanceof ConfigurationError) error.index = start + index;
      throw error;
    }
  }
  return done;
}

/** The data for the checks of one batch: the ids of existing resources, and the rules of the kind. */
type Rules<T extends ResourceTable> = { readonly existing: Existing; readonly check: Check<T> | undefined };

async function rulesFor<T extends ResourceTable>(
  scope: ChangeScope,
  table: T,
  resources: readonly Wanted<T>[],
): Promise<Rules<T>> {
  const attributes = resources.map((resource) => resource.attributes);
  return {
    existing: await existingReferences(scope, resources),
    check: await KINDS[table].checkFor?.(scope, attributes),
  };
}

/**
 * Checks that the references of a resource exist, and that the resource satisfies the rules of its kind.
 *
 * @throws InvalidReference, and the errors of the kind's own check
 */
async function refuseBroken<T extends ResourceTable>(
  { existing, check }: Rules<T>,
  resource: Wanted<T>,
  id: number | null,
): Promise<void> {
  refuseMissing(existing, resource);
  await check?.(resource.attributes, id);
}

/** Stored resources by id. */
type Present<T extends ResourceTable> = {
  readonly rows: ReadonlyMap<number, Row<T>>;
  /** For each resource, the ids in those attributes that are stored as rows of another table. */
  readonly links: ReadonlyMap<number, readonly number[]> | undefined;
};

async function presentOf<T extends ResourceTable>(
  scope: ChangeScope,
  table: T,
  wanted: readonly { readonly id: number; readonly kind: KindIn<T> }[],
): Promise<Present<T>> {
  const rows = await foundRows(scope, table, wanted);
  return { rows, links: await KINDS[table].linkedIds?.(scope.tx, [...rows.keys()]) };
}

/**
 * Reads the rows with these ids. Returns them by id. A row of another kind than `wanted` names is left out.
 */
async function foundRows<T extends ResourceTable>(
  { tx, context }: ChangeScope,
  table: T,
  wanted: readonly { readonly id: number; readonly kind: KindIn<T> | null }[],
): Promise<ReadonlyMap<number, Row<T>>> {
  const kinds = new Map(wanted.map(({ id, kind }) => [id, kind]));
  const rows = await findResources(tx, table, context.workspaceId, [...kinds.keys()]);
  const isWanted = (row: Row<T>) => {
    const kind = kinds.get(row.id);
    return kind === null || kind === KINDS[table].kindOf(row);
  };
  return new Map(rows.filter(isWanted).map((row) => [row.id, row]));
}

type Reference = { readonly name: string; readonly table: ResourceTable };

/** For each kind, the attributes that contain ids of other resources. */
const REFERENCES: ReadonlyMap<ResourceKind, readonly Reference[]> = new Map(
  RESOURCE_KINDS.map((kind) => [kind, referencesOf(kind)]),
);

function referencesOf(kind: ResourceKind): Reference[] {
  return Object.entries(DEFINITIONS[kind].attributes).flatMap(([name, { value }]) => {
    // All kinds that one attribute may name are in one table.
    const [first] = value.references ?? [];
    return first !== undefined && isResourceKind(first) ? [{ name, table: TABLE_OF[first] }] : [];
  });
}

/** For each table, the ids that attributes contain and that exist in the workspace. */
export type Existing = ReadonlyMap<ResourceTable, ReadonlySet<number>>;

type Referring = { readonly kind: ResourceKind; readonly attributes: object };

/** Finds out which of the ids in the attributes of these resources exist. Reads within the transaction. */
async function existingReferences(scope: ChangeScope, resources: readonly Referring[]): Promise<Existing> {
  const named = new Map<ResourceTable, Set<number>>();
  for (const resource of resources) {
    for (const { table, ids } of namedBy(resource)) {
      const known = named.get(table) ?? new Set<number>();
      named.set(table, known);
      for (const id of ids) known.add(Number(id));
    }
    await scope.giveTurn();
  }
  const existing = new Map<ResourceTable, ReadonlySet<number>>();
  for (const [table, ids] of named) {
    existing.set(table, await existingResources(scope.tx, table, scope.context.workspaceId, [...ids]));
    await scope.giveTurn();
  }
  return existing;
}

/**
 * Checks that every id in the attributes of a resource exists.
 *
 * @throws InvalidReference for the first id that does not exist
 */
function refuseMissing(existing: Existing, resource: Referring): void {
  for (const { name, table, ids, isList } of namedBy(resource)) {
    const missing = ids.findIndex((id) => existing.get(table)?.has(Number(id)) !== true);
    if (missing === -1) continue;
    const path = isList ? [name, missing] : [name];
    throw new InvalidReference(`there is no ${NOUN_OF[table]} ${String(ids[missing])}`, path);
  }
}

type Named = Reference & { readonly ids: readonly unknown[]; readonly isList: boolean };

function namedBy({ kind, attributes }: Referring): Named[] {
  const references = REFERENCES.get(kind) ?? [];
  if (references.length === 0) return [];
  const members = new Map<string, unknown>(Object.entries(attributes));
  return references.map(({ name, table }) => {
    const named = members.get(name);
    return { name, table, ids: [named ?? []].flat(), isList: Array.isArray(named) };
  });
}
