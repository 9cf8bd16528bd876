import { z } from 'zod';
import { readFact, writeFact } from './facts.ts';
import { type Readable, readingOf } from './reading-of.ts';
import { RESOURCE_TABLES } from './resources.ts';
import type { Transaction } from './store.ts';

/** Facts about the declared file that was applied last. Older versions of svc know the digest only. */
const DIGEST = 'declared_digest';
const SOURCES = 'declared_sources';

const sources = z.object({
  /** SHA-256 of the file, hex. */
  digest: z.string(),
  /** Names of the files that it inserts, as written in it. */
  files: z.array(z.string()).readonly(),
  /** Names of the environment variables that it inserts. */
  variables: z.array(z.string()).readonly(),
  /** Keyed: tells whether the same would be declared again, and nothing of what was inserted. */
  fingerprint: z.string(),
  /** What of it has no effect, and where that stands. */
  warnings: z
    .array(z.object({ file: z.string(), line: z.int(), column: z.int(), message: z.string() }))
    .readonly(),
  /** Entries that it declares. */
  resources: z.number(),
  /** Of the rows that it owned afterwards; see {@link ownedRows}. */
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

/** What the declaration that was applied last was made of. */
export type AppliedDeclaration = z.infer<typeof sources>;

/** SHA-256 (hex) of the declared file that was applied last; null: none ever was. */
export function appliedDigest({ db }: Transaction): Promise<string | null> {
  return readFact(db, DIGEST);
}

/** Null: none was applied, or it is not known what was. */
export async function appliedDeclaration(source: Readable): Promise<AppliedDeclaration | null> {
  const db = readingOf(source);
  const stored = await readFact(db, SOURCES);
  const { data } = storedSources.safeParse(stored);
  // Else a version of svc that knows the digest only has applied another file since.
  return data !== undefined && data.digest === (await readFact(db, DIGEST)) ? data : null;
}

/** In the transaction that applied it, after all else. */
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
 * How many rows the declared file owns, which ones, and how often they were changed, by table. Equal texts at two
 * moments mean that nobody has changed, removed, released or replaced one of them between: versions of rows only grow,
 * and no id is given twice.
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
