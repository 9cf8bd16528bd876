import { randomBytes, randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Database } from './schema.ts';
import type { Secrets } from './secrets.ts';
import type { Store, Transaction } from './store.ts';

const JOB_KEY_BYTES = 32;

/** What makes this installation different from every other; made at the first start and never changed. */
export type Installation = {
  /** Goes into what must be unique across installations: incident keys, delivery ids. */
  readonly id: string;
  /** 32 bytes: signs the tokens of jobs, so that a result can be checked without memory of its job. */
  readonly jobKey: Uint8Array;
};

/** @throws StoreError `store-key` when the job key was sealed under another secret key */
export async function loadInstallation(store: Store, secrets: Secrets): Promise<Installation> {
  return store.transaction(async ({ db }) => {
    const id = await factOrNew(db, 'installation', randomUUID);
    const sealed = await factOrNew(db, 'job_key', () =>
      Buffer.from(secrets.seal('facts.job_key', randomBytes(JOB_KEY_BYTES).toString('base64'))).toString(
        'base64',
      ),
    );
    const jobKey = Buffer.from(secrets.open('facts.job_key', Buffer.from(sealed, 'base64')), 'base64');
    return { id, jobKey: new Uint8Array(jobKey) };
  });
}

/** Single values that belong to no table. Known keys: installation, job_key, secret_probe, declared_digest, believed_time. */
export async function readFact(db: Kysely<Database>, key: string): Promise<string | null> {
  const row = await db.selectFrom('facts').select('value').where('key', '=', key).executeTakeFirst();
  return row?.value ?? null;
}

/** @param db of a transaction */
export async function writeFact(db: Kysely<Database>, key: string, value: string): Promise<void> {
  await db
    .insertInto('facts')
    .values({ key, value })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value }))
    .execute();
}

export async function factOrNew(db: Kysely<Database>, key: string, make: () => string): Promise<string> {
  const known = await readFact(db, key);
  if (known !== null) return known;
  const made = make();
  await writeFact(db, key, made);
  return made;
}

/** Fact that keeps the digest of the declared file that was applied last. */
const APPLIED_DIGEST = 'declared_digest';

/** SHA-256 (hex) of the declared file that was applied last; null: none ever was. */
export function appliedDigest({ db }: Transaction): Promise<string | null> {
  return readFact(db, APPLIED_DIGEST);
}

export function writeAppliedDigest({ db }: Transaction, digest: string): Promise<void> {
  return writeFact(db, APPLIED_DIGEST, digest);
}
