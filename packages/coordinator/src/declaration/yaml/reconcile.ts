import { DEFINITIONS, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { Secret } from '@svc/shared/secret.ts';
import { type AuditLine, appendAudit } from '../../store/access/audit.ts';
import {
  type AppliedDeclaration,
  appliedDigest,
  writeAppliedDeclaration,
} from '../../store/declaration/applied-declaration.ts';
import { channelsOfFile } from '../../store/declaration/channels.ts';
import type { Secrets } from '../../store/declaration/secrets.ts';
import type { ConfigurationChange } from '../configuration.ts';
import { ConfigurationError } from '../errors.ts';
import { type ChannelStates, setChannelStates } from './channel-states.ts';
import { type Address, addressOf, DeclarationError, type DeclaredEntry } from './declaration.ts';
import { resolveReferences } from './entry-references.ts';
import {
  batchesOfOneKind,
  isMassDeletion,
  isStillTrue,
  type NamedResource,
  type Plan,
  type Prepared,
  prepareChanges,
  type Write,
} from './plan.ts';

/**
 * Maximum number of monitors that are removed in one batch. Before
 * each batch, svc checks whether the coordinator is stopping.
 */
const REMOVALS_PER_BATCH = 250;

/** A valid declaration that will be applied. */
export type Declaration = {
  /** Name of the file, for errors. */
  readonly file: string;
  /** What will be stored about the sources of the declaration. */
  readonly sources: Omit<AppliedDeclaration, 'rows' | 'resources'>;
  /** The entries, in order of dependency. */
  readonly entries: readonly DeclaredEntry[];
};

export type ReconcileParts = ChannelStates & {
  readonly secrets: Secrets;
  readonly allowsDelete: boolean;
  readonly signal: AbortSignal;
  /** When the declaration is applied, epoch ms, for the audit trail. */
  readonly at: number;
};

export type Reconciled = {
  readonly created: number;
  readonly updated: number;
  readonly deleted: number;
  readonly unchanged: number;
};

/**
 * Makes the stored resources of the file equal to the declaration, within the given change.
 *
 * @param prepared the result of {@link prepareChanges} from before the
 *   change. If rows have changed since then, the plan is made again
 * @throws DeclarationError when an entry is refused, or when too many resources
 *   would be deleted; StoreError; the reason of the signal when it aborts
 */
export async function reconcile(
  change: ConfigurationChange,
  declaration: Declaration,
  prepared: Prepared,
  parts: ReconcileParts,
): Promise<Reconciled> {
  const { entries, sources } = declaration;
  const { workspaceId } = change.context;
  const { resources, plan } = (await isStillTrue(change.tx, prepared, workspaceId))
    ? prepared
    : await prepareChanges(change.tx, { secrets: parts.secrets, workspaceId, entries });
  refuseMassDeletion(declaration, plan, parts.allowsDelete);

  await removeAll(change, plan.removals, parts.signal);
  const idOf = await writeAll(change, declaration, plan, resources, parts.signal);
  await removeMonitors(change, plan.monitorRemovals, parts.signal);
  await change.giveTurn();
  await setStates(change, plan, idOf, parts);
  await writeAppliedDeclaration(change.tx, workspaceId, { ...sources, resources: entries.length });
  const { file } = declaration;
  const { digest } = sources;
  const applied = { plan, idOf, at: parts.at };
  await appendAudit(change.tx, auditLines(workspaceId, { file, digest }, applied));

  const created = plan.writes.filter(({ id }) => id === null).length;
  return {
    created,
    updated: plan.writes.length - created,
    deleted: plan.deletions,
    unchanged: entries.length - plan.writes.length,
  };
}

/** Whether a declaration was ever applied to this database. */
export async function wasApplied(change: ConfigurationChange): Promise<boolean> {
  return (await appliedDigest(change.tx)) !== null;
}

function refuseMassDeletion({ file }: Declaration, plan: Plan, allowsDelete: boolean): void {
  if (allowsDelete || !isMassDeletion(plan)) return;
  const message = `the file would delete ${plan.deletions} of the ${plan.owned} resources that it declared before: set SVC_CONFIG_ALLOW_DELETE=1 to allow that`;
  throw new DeclarationError([{ file, line: 1, column: 1, message }]);
}

async function removeAll(
  change: ConfigurationChange,
  resources: readonly NamedResource[],
  signal: AbortSignal,
): Promise<void> {
  for (const some of batchesOfOneKind(resources, (resource) => resource)) {
    signal.throwIfAborted();
    const [first] = some;
    if (first === undefined) continue;
    await change.removeAll(
      first.kind,
      some.map(({ id }) => id),
    );
  }
}

/**
 * Removes monitors and the components that show these monitors. At this
 * point, only components that were created over the API can show them.
 */
async function removeMonitors(
  change: ConfigurationChange,
  monitors: readonly NamedResource[],
  signal: AbortSignal,
): Promise<void> {
  const ids = monitors.map(({ id }) => id);
  for (let start = 0; start < ids.length; start += REMOVALS_PER_BATCH) {
    signal.throwIfAborted();
    await change.removeMonitors(ids.slice(start, start + REMOVALS_PER_BATCH));
  }
}

/** Returns the id of the entry at an address; undefined: the entry is not written yet. */
type IdOf = (address: Address) => number | undefined;

/** Writes the entries of the plan. Returns the ids of all entries. */
async function writeAll(
  change: ConfigurationChange,
  declaration: Declaration,
  { writes }: Plan,
  resources: ReadonlyMap<Address, NamedResource>,
  signal: AbortSignal,
): Promise<IdOf> {
  const made = new Map<Address, number>();
  const idOf = (address: Address) => made.get(address) ?? resources.get(address)?.id;
  for (const some of batchesOfOneKind(writes, ({ entry, id }) => ({
    kind: entry.kind,
    isNew: id === null,
  }))) {
    signal.throwIfAborted();
    await change.giveTurn();
    await writeTogether(change, declaration, some, { made, idOf });
  }
  return idOf;
}

/**
 * Writes entries of one kind.
 *
 * @param writes entries whose references name only kinds that
 *   were written before. Either all entries are new, or none is
 * @param ids.made gets the ids of the new resources
 */
async function writeTogether(
  change: ConfigurationChange,
  declaration: Declaration,
  writes: readonly Write[],
  { made, idOf }: { made: Map<Address, number>; idOf: IdOf },
): Promise<void> {
  const [first] = writes;
  if (first === undefined) return;
  const { kind } = first.entry;
  const entries = writes.map(({ entry, id }) => ({
    id: id ?? 0,
    attributes: resolveReferences(kind, entry.attributes, (to) => String(idOf(to))),
    declared: { localName: entry.name },
  }));
  try {
    if (first.id !== null) return await change.updateAll(kind, entries);
    const ids = await change.createAll(kind, entries);
    for (const [index, { entry }] of writes.entries()) made.set(addressOf(entry), ids[index] ?? 0);
  } catch (error) {
    const refused = error instanceof ConfigurationError ? writes[error.index ?? -1] : undefined;
    throw error instanceof ConfigurationError && refused !== undefined
      ? locatedError(declaration, refused.entry, error)
      : error;
  }
}

function locatedError(
  { file }: Declaration,
  entry: DeclaredEntry,
  error: ConfigurationError,
): DeclarationError {
  const where = [addressOf(entry), ...error.path].join('.');
  const { line, column } = entry;
  return new DeclarationError([{ file, line, column, message: `${where}: ${error.message}` }], {
    cause: error,
  });
}

async function setStates(
  change: ConfigurationChange,
  plan: Plan,
  idOf: IdOf,
  parts: ReconcileParts,
): Promise<void> {
  const written = new Set(plan.writes.map(({ entry }) => entry));
  const stored = await channelsOfFile(change.tx, change.context.workspaceId);
  const reasons = new Map(stored.map(({ id, reason }) => [id, reason]));
  const channels = plan.channels.flatMap((entry) => {
    const id = idOf(addressOf(entry));
    if (entry.kind !== 'svc_notification' || id === undefined) return [];
    const { provider_type: kind, settings } = entry.attributes;
    const reason = reasons.get(id) ?? null;
    return [{ id, kind, settings: new Secret<object>(settings), reason, isWritten: written.has(entry) }];
  });
  await setChannelStates(change, channels, parts);
}

/**
 * Maximum number of changes for which each change gets an audit line. If one apply
 * makes more changes, only the apply gets a line, which gives the number of changes.
 */
const MOST_LINES = 1_000;

/**
 * Returns the name of an object in the audit trail, like `monitors/12`:
 * the last part of the collection's path in the API, and the id.
 */
function objectOf(kind: ResourceKind, id: number | undefined): string {
  const { path } = DEFINITIONS[kind];
  return `${path.slice(path.lastIndexOf('/') + 1)}/${id}`;
}

/**
 * Makes the lines of one apply in the audit trail: a line for the apply, and a line for each
 * change, if there are at most {@link MOST_LINES}. There are no lines if nothing changed.
 */
function auditLines(
  workspaceId: number,
  { file, digest }: { file: string; digest: string },
  { plan, idOf, at }: { plan: Plan; idOf: (address: Address) => number | undefined; at: number },
): AuditLine[] {
  const removals = [...plan.removals, ...plan.monitorRemovals];
  const count = plan.writes.length + removals.length;
  if (count === 0) return [];
  const line = (action: string, object: string, detail: string): AuditLine => ({
    at,
    workspaceId,
    actor: 'declared-file',
    token: null,
    action,
    object,
    outcome: 'done',
    status: null,
    requestId: null,
    peer: null,
    detail,
  });
  const whole = line(
    'apply',
    'declared-file',
    `${file} (SHA-256 ${digest}): ${count} of its objects changed`,
  );
  if (count > MOST_LINES) return [whole];
  return [
    whole,
    ...removals.map(({ kind, id, localName }) => line('remove', objectOf(kind, id), `${kind}.${localName}`)),
    ...plan.writes.map(({ entry, id }) => {
      const object = objectOf(entry.kind, id ?? idOf(addressOf(entry)));
      return line(id === null ? 'create' : 'replace', object, addressOf(entry));
    }),
  ];
}
