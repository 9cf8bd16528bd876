import { z } from 'zod';
import { readFact, writeFact } from '../facts.ts';
import { type Readable, readingOf } from '../queries.ts';
import type { Transaction } from '../store.ts';
import { RESOURCE_TABLES } from './resources.ts';

/** Keys of the facts about the last applied declared file. */
const DIGEST = 'declared_digest';
const SOURCES = 'declared_sources';

const sources = z.object({
  /** SHA-256 of the file, hex. */
  digest: z.string(),
  /** Names of the files that the declared file inserts, as the declared file writes them. */
  files: z.array(z.string()).readonly(),
  /** Names of the environment variables that the declared file inserts. */
  variables: z.array(z.string()).readonly(),
  /**
   * Keyed hash of all sources of the declaration, see `DeclarationSources`. An equal hash means that none of
   * them has changed. The hash reveals nothing about inserted values.
   */
  fingerprint: z.string(),
  /** Warnings about parts of the file that have no effect, with their places. */
  warnings: z
    .array(z.object({ file: z.string(), line: z.int(), column: z.int(), message: z.string() }))
    .readonly(),
  /** Number of resources that the file declares. */
  resources: z.number(),
  /** Describes the rows that the file owned after it was applied; see {@link ownedRows}. */
  rows: z.string(),
});

const storedSources = z
  .string()
  .transform((text, context): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      context.addIssue('not JSON');
      return z.NEVER;
    }
  })
  .pipe(sources);

/** What is stored about the declaration that was applied last. */
export type AppliedDeclaration = z.infer<typeof sources>;

/** SHA-256 (hex) of the declared file that was applied last; null: no file was ever applied. */
export function appliedDigest({ db }: Transaction): Promise<string | null> {
  return readFact(db, DIGEST);
}

/**
 * What is stored about the last applied declaration; null: none was applied, or the stored value cannot be
 * read.
 */
export async function appliedDeclaration(source: Readable): Promise<AppliedDeclaration | null> {
  const db = readingOf(source);
  const stored = await readFact(db, SOURCES);
  const { data } = storedSources.safeParse(stored);
  return data ?? null;
}

/**
 * Stores the sources of the applied declaration, and the rows that the file owns now. Call this in the
 * transaction that applies the declaration, after the writes of resources.
 */
export async function writeAppliedDeclaration(
  tx: Transaction,
  workspaceId: number,
  applied: Omit<AppliedDeclaration, 'rows'>,
): Promise<void> {
  const rows = await ownedRows(tx, workspaceId);
  await writeFact(tx.db, DIGEST, applied.digest);
  await writeFact(tx.db, SOURCES, JSON.stringify({ ...applied, rows } satisfies AppliedDeclaration));
}

/**
 * Describes the rows of the workspace that the declared file owns: for each table their number, the sum of
 * their ids, and the sum of their versions.
 *
 * Equal texts at two moments mean that the file owns the same rows with the same content: row versions only
 * grow, and no id is assigned twice.
 */
export async function ownedRows(source: Readable, workspaceId: number): Promise<string> {
  const counts: string[] = [];
  for (const table of RESOURCE_TABLES) {
    const { count, ids, versions } = await readingOf(source)
      .selectFrom(table)
      .select(({ fn }) => [
        fn.countAll<number>().as('count'),
        fn.sum<number | null>('id').as('ids'),
        fn.sum<number | null>('row_version').as('versions'),
      ])
      .where('workspace_id', '=', workspaceId)
      .where('owner', '=', 'file')
      .executeTakeFirstOrThrow();
    counts.push(`${table} ${count} ${ids ?? 0} ${versions ?? 0}`);
  }
  return counts.join(', ');
}

/**
 * Describes rows like {@link ownedRows}, but also the rows that a start without a
 * declared file released. The owned rows are counted separately.
 */
export async function declaredRows(source: Readable, workspaceId: number): Promise<string> {
  const counts: string[] = [];
  for (const table of RESOURCE_TABLES) {
    const { count, owned, ids, versions } = await readingOf(source)
      .selectFrom(table)
      .select(({ fn }) => [
        fn.countAll<number>().as('count'),
        // The owners are counted too, because a release does not change a row's version.
        fn.count<number>('owner').as('owned'),
        fn.sum<number | null>('id').as('ids'),
        fn.sum<number | null>('row_version').as('versions'),
      ])
      .where('workspace_id', '=', workspaceId)
      .where('local_name', 'is not', null)
      .executeTakeFirstOrThrow();
    counts.push(`${table} ${count} ${owned} ${ids ?? 0} ${versions ?? 0}`);
  }
  return counts.join(', ');
}
