import { setImmediate } from 'node:timers/promises';
import type { LiveMonitor } from '../domain/monitor.ts';
import type { DeclarationEffects } from '../results/evaluation.ts';
import type { Secrets } from '../store/secrets.ts';
import type { Transaction } from '../store/store.ts';
import type { ChangeContext } from './configuration.ts';
import { Conflict, NotFound, PreconditionFailed } from './errors.ts';
import { NOUN_OF, type ResourceTable } from './kinds.ts';
import type { MonitorsInMemory } from './live-monitors.ts';

/** ms that a change may hold the thread before the event loop gets a turn; what it does then takes its time too. */
const TURN_MS = 8;

/** What the parts of one change share: the transaction, and the monitors as they are inside it. */
export class ChangeScope {
  readonly context: ChangeContext;
  readonly tx: Transaction;
  readonly secrets: Secrets;
  readonly effects: DeclarationEffects;
  /** Epoch ms: one instant for the whole change. */
  readonly now: number;
  readonly #monitors: MonitorsInMemory;
  /** Changed in this transaction; null: deleted. Memory follows after the commit. */
  readonly #changed = new Map<number, LiveMonitor | null>();
  #turnBegan = performance.now();

  constructor(parts: {
    context: ChangeContext;
    tx: Transaction;
    secrets: Secrets;
    effects: DeclarationEffects;
    monitors: MonitorsInMemory;
    now: number;
  }) {
    this.context = parts.context;
    this.tx = parts.tx;
    this.secrets = parts.secrets;
    this.effects = parts.effects;
    this.now = parts.now;
    this.#monitors = parts.monitors;
  }

  /** The monitor as this transaction sees it, or null. */
  monitor(id: number): LiveMonitor | null {
    const changed = this.#changed.get(id);
    return changed !== undefined ? changed : (this.#monitors.get(id) ?? null);
  }

  /** To be called before a deleted monitor's row goes, and after a created one's came. */
  replaceMonitor(before: LiveMonitor | null, after: LiveMonitor | null): void {
    const id = (after ?? before)?.id;
    if (id === undefined) return;
    this.#changed.set(id, after);
    this.effects.monitorChanged(this.tx, before, after);
    this.tx.onCommit(() => this.#monitors.replace(before, after));
  }

  async breathe(): Promise<void> {
    if (performance.now() - this.#turnBegan < TURN_MS) return;
    await setImmediate();
    this.#turnBegan = performance.now();
  }

  /** The columns of a row made now. */
  creation(declared: { localName: string } | undefined) {
    return {
      workspace_id: this.context.workspaceId,
      ...this.ownership(declared),
      created_at: this.now,
      updated_at: this.now,
    };
  }

  ownership(declared: { localName: string } | undefined): {
    owner: 'file' | null;
    local_name: string | null;
  } {
    if (declared === undefined) return { owner: null, local_name: null };
    return { owner: 'file', local_name: declared.localName };
  }
}

export type WriteOptions = {
  readonly expectedVersions?: readonly number[];
  readonly declared?: { localName: string };
};

type Head = { id: number; owner: string | null; local_name: string | null; row_version: number };

/**
 * The row, when it is there and may be written.
 *
 * @throws NotFound, Conflict `declared-in-file`, PreconditionFailed
 */
export function writable<R extends Head>(
  scope: ChangeScope,
  table: ResourceTable,
  id: number,
  row: R | undefined,
  { expectedVersions }: { expectedVersions?: readonly number[] } = {},
): R {
  const noun = NOUN_OF[table];
  if (row === undefined) throw new NotFound(`there is no ${noun} ${id}`);
  refuseDeclared(scope, table, row, `${noun} ${id}`);
  requireVersion(`${noun} ${id}`, row.row_version, expectedVersions);
  return row;
}

/**
 * @param expectedVersions any of them will do; undefined: every version will
 * @throws PreconditionFailed
 */
export function requireVersion(
  subject: string,
  version: number,
  expectedVersions: readonly number[] | undefined,
): void {
  if (expectedVersions === undefined || expectedVersions.includes(version)) return;
  const expected = expectedVersions.length === 0 ? 'what was expected' : expectedVersions.join(' or ');
  throw new PreconditionFailed(
    `${subject} has version ${version}, not ${expected}: it was changed in between`,
  );
}

/** @param subject what would be changed, for the message */
export function refuseDeclared(
  { context }: ChangeScope,
  table: ResourceTable,
  row: Pick<Head, 'id' | 'owner' | 'local_name'>,
  subject: string,
): void {
  if (context.actor === 'file' || row.owner !== 'file') return;
  const entry = `${NOUN_OF[table]} ${row.id}`;
  throw new Conflict(
    'declared-in-file',
    `${subject} cannot be changed over the API: ${entry === subject ? 'it' : entry} is declared in svc.yaml as "${row.local_name}", where it is to be changed`,
  );
}

/** What every update of a row writes beside the attributes. */
export function revision(
  scope: ChangeScope,
  row: Head,
  { declared }: WriteOptions,
): Partial<ReturnType<ChangeScope['ownership']>> & { row_version: number; updated_at: number } {
  return {
    ...(declared === undefined ? {} : scope.ownership(declared)),
    row_version: row.row_version + 1,
    updated_at: scope.now,
  };
}

/** Whether an update changes who owns the row and under which key. */
export function changesOwnership(row: Head, { declared }: WriteOptions): boolean {
  return declared !== undefined && (row.owner !== 'file' || row.local_name !== declared.localName);
}
