import { ownedByFile, releasedByFile } from '../configuration/owned-by-file.ts';
import { declaredRows } from '../store/applied-declaration.ts';
import type { Readable } from '../store/reading-of.ts';
import type { Secrets } from '../store/secrets.ts';
import type { DeclaredEntry } from './declaration.ts';
import { type OwnedResource, type Plan, planChanges } from './plan.ts';

/** The stored side of the file's diff, and the changes that follow from it. */
export type Prepared = {
  /** Resources that the file owns, and those that an earlier file declared. */
  readonly known: readonly OwnedResource[];
  readonly ownedCount: number;
  readonly plan: Plan;
  /** The rows that this follows from; see {@link declaredRows}. */
  readonly rows: string;
};

type Parts = {
  readonly secrets: Secrets;
  readonly workspaceId: number;
  /** Entries in order of dependency. */
  readonly entries: readonly DeclaredEntry[];
};

/**
 * Reads and compares all declared resources. That takes seconds where there are a hundred thousand, so it is done
 * before the transaction that changes them.
 */
export async function prepare(source: Readable, { secrets, workspaceId, entries }: Parts): Promise<Prepared> {
  // This comes before reading, so that a change in between is noticed.
  const rows = await declaredRows(source, workspaceId);
  const owned = await ownedByFile(source, secrets, workspaceId);
  const known = [...owned, ...(await releasedByFile(source, secrets, workspaceId))];
  return { known, ownedCount: owned.length, plan: await planChanges(entries, known), rows };
}

/** Whether nobody has changed the rows since. */
export async function isStillTrue(
  source: Readable,
  { rows }: Prepared,
  workspaceId: number,
): Promise<boolean> {
  return (await declaredRows(source, workspaceId)) === rows;
}
