import { Turns } from '@svc/shared/collections.ts';
import type { EgressGuard } from '@svc/shared/egress.ts';
import type { NewChange } from '../store/declaration/changes.ts';
import type { OwnedRow, ResourceTable } from '../store/declaration/resources.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import type { Transaction } from '../store/store.ts';
import type { ChangeContext } from './configuration.ts';
import { Conflict, NotFound, PreconditionFailed } from './errors.ts';
import { NOUN_OF } from './kinds/kinds.ts';

/** State that the parts of one change share. */
export class ChangeScope {
  readonly context: ChangeContext;
  readonly tx: Transaction;
  readonly secrets: Secrets;
  /** Name of the declared file, for messages; null: this coordinator has none. */
  readonly declaredFile: string | null;
  /** Judges the endpoints of exports. */
  readonly guard: EgressGuard;
  /** Epoch ms, whole: one instant for the whole change. */
  readonly now: number;
  /** Entries for the log, in their order. */
  readonly changes: NewChange[] = [];
  readonly #turns = new Turns();

  constructor(parts: Pick<ChangeScope, 'context' | 'tx' | 'secrets' | 'declaredFile' | 'guard' | 'now'>) {
    this.context = parts.context;
    this.tx = parts.tx;
    this.secrets = parts.secrets;
    this.declaredFile = parts.declaredFile;
    this.guard = parts.guard;
    this.now = parts.now;
  }

  /**
   * Notes a change that has effects beside its rows. The entry contains the rows' former content, so the rows
   * must still exist.
   */
  logChange(change: NewChange): void {
    this.changes.push(change);
  }

  giveTurn(): Promise<void> {
    return this.#turns.giveTurn();
  }

  /** The columns of a row made now. */
  creationColumns(declared: { localName: string } | undefined) {
    return {
      workspace_id: this.context.workspaceId,
      ...this.ownershipColumns(declared),
      created_at: this.now,
      updated_at: this.now,
    };
  }

  ownershipColumns(declared: { localName: string } | undefined): {
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

type Head = OwnedRow & { row_version: number };

/**
 * Answers the row if it exists and may be written.
 *
 * @throws NotFound, Conflict `declared-in-file`, PreconditionFailed
 */
export function writableRow<R extends Head>(
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
 * @param expectedVersions any of them is enough; undefined: every version is
 * @throws PreconditionFailed
 */
export function requireVersion(
  subject: string,
  version: number,
  expectedVersions: readonly number[] | undefined,
): void {
  if (expectedVersions === undefined || expectedVersions.includes(version)) return;
  const expected = expectedVersions.length === 0 ? 'the expected one' : expectedVersions.join(' or ');
  throw new PreconditionFailed(
    `${subject} has version ${version}, not ${expected}: it was changed in between`,
  );
}

/** @param subject the resource that would be changed, for the message */
export function refuseDeclared(
  { context, declaredFile }: ChangeScope,
  table: ResourceTable,
  row: OwnedRow,
  subject: string,
): void {
  if (context.actor === 'file' || row.owner !== 'file') return;
  const entry = `${NOUN_OF[table]} ${row.id}`;
  throw new Conflict(
    'declared-in-file',
    `${subject} cannot be changed over the API: ${entry === subject ? 'it' : entry} is declared in ${declaredFile ?? 'a file'} as "${row.local_name}": change it there`,
  );
}

/** Columns that every update of a row writes beside the attributes. */
export function revisionColumns(
  scope: ChangeScope,
  row: Head,
  { declared }: WriteOptions,
): Partial<ReturnType<ChangeScope['ownershipColumns']>> & { row_version: number; updated_at: number } {
  return {
    ...(declared === undefined ? {} : scope.ownershipColumns(declared)),
    row_version: row.row_version + 1,
    updated_at: scope.now,
  };
}

/** Whether an update changes who owns the row and under which key. */
export function changesOwnership(row: Head, { declared }: WriteOptions): boolean {
  return declared !== undefined && (row.owner !== 'file' || row.local_name !== declared.localName);
}
