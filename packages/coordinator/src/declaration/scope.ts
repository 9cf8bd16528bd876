import { Turns } from '@svc/shared/collections.ts';
import type { EgressGuard } from '@svc/shared/egress.ts';
import type { NewChange } from '../store/declaration/changes.ts';
import type { OwnedRow, ResourceTable } from '../store/declaration/resources.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import type { Transaction } from '../store/store.ts';
import type { ChangeContext } from './configuration.ts';
import { Conflict, NotFound, PreconditionFailed } from './errors.ts';
import { NOUN_OF } from './kinds/kind-tables.ts';

/** State that all operations of one change share. */
export class ChangeScope {
  readonly context: ChangeContext;
  readonly tx: Transaction;
  readonly secrets: Secrets;
  /** Name of the declared file, for messages; null: this coordinator has no declared file. */
  readonly declaredFile: string | null;
  /** Decides to which endpoints svc may export metrics. */
  readonly guard: EgressGuard;
  /** The instant of the change, epoch ms, a whole number. */
  readonly now: number;
  /** Entries that are appended to the log before the commit, oldest first. */
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
   * Adds a change with effects to the entries for the log. An entry about a removal
   * contains data of the removed rows, so read these data before the rows are removed.
   */
  logChange(change: NewChange): void {
    this.changes.push(change);
  }

  giveTurn(): Promise<void> {
    return this.#turns.giveTurn();
  }

  /** Returns the columns that every new row has in addition to the columns of its attributes. */
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
  /** Names of attributes that an update leaves as they are. */
  readonly kept?: readonly string[];
};

type Head = OwnedRow & { row_version: number };

/**
 * Returns the row if it exists and the change may write it.
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
 * Checks that a row has one of the expected versions.
 *
 * @param subject name of the row's object, for the message
 * @param expectedVersions undefined: any version is accepted
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

/**
 * Refuses a change by the API if the declared file owns the row.
 *
 * @param row the resource that would be written: itself the subject, or a part of it
 * @param subject name of the resource that the request would change, for the message
 * @throws Conflict `declared-in-file`
 */
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

/** Returns the columns that every update of a row writes in addition to the columns of the attributes. */
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

/** Whether an update changes the owner of the row, or the name of the row's entry in the declared file. */
export function changesOwnership(row: Head, { declared }: WriteOptions): boolean {
  return declared !== undefined && (row.owner !== 'file' || row.local_name !== declared.localName);
}
