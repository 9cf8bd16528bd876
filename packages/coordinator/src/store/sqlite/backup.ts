import { closeSync, openSync } from 'node:fs';
import { backup, DatabaseSync } from 'node:sqlite';
import { messageOf, SvcError } from '@svc/shared/errors.ts';
import type { Secret } from '@svc/shared/secret.ts';
import type { SecretKeys } from '../access/key-files.ts';
import { parseSecretKey, Secrets } from '../declaration/secrets.ts';
import { MIGRATIONS } from '../migrations/index.ts';
import { BUSY_LIMIT_MS } from './write-requests.ts';

/**
 * Number of pages in a step of a backup: all of them. A step sees one moment of the database. If there were
 * several steps, a write between two steps would start the backup again.
 */
const ALL_PAGES = 2 ** 31 - 1;

/**
 * Copies the database in its state at one moment. A coordinator may use the database meanwhile, because
 * copying only reads and the coordinator writes to the journal.
 *
 * @param to a path that does not exist; only its owner may read the new file
 * @throws SvcError `bad-backup`
 */
export async function copyDatabase(from: string, to: string): Promise<void> {
  let source: DatabaseSync | undefined;
  try {
    source = new DatabaseSync(from, { readOnly: true, timeout: BUSY_LIMIT_MS });
    closeSync(openSync(to, 'wx', 0o600));
    await backup(source, to, { rate: ALL_PAGES });
  } catch (error) {
    throw new SvcError('bad-backup', `cannot copy ${from} to ${to}: ${messageOf(error)}`, { cause: error });
  } finally {
    source?.close();
  }
}

/**
 * Checks a database that no process uses. Its pages must not be damaged, this or an older version of svc must
 * have made it, and the keys must open its probe secret (`facts.secret_probe`).
 *
 * @param keys null: the keys are not known and not checked
 * @throws SvcError `bad-backup` with the fault
 */
export function checkDatabase(path: string, keys: SecretKeys | null): void {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path);
    const problems = database
      .prepare('PRAGMA integrity_check(5)')
      .all()
      .map((row) => String(Object.values(row)[0]));
    if (problems.join() !== 'ok')
      throw new SvcError('bad-backup', `${path} is damaged: ${problems.join('; ')}`);
    const applied = database.prepare('SELECT name FROM kysely_migration').all();
    const newer = applied.map(({ name }) => String(name)).filter((name) => !Object.hasOwn(MIGRATIONS, name));
    if (newer.length > 0) {
      throw new SvcError(
        'bad-backup',
        `${path} was written by a newer version of svc (${newer.join(', ')}): use that version or a later one`,
      );
    }
    if (keys !== null) checkKeys(database, path, keys);
  } catch (error) {
    if (error instanceof SvcError) throw error;
    throw new SvcError('bad-backup', `${path} is not a database of svc: ${messageOf(error)}`, {
      cause: error,
    });
  } finally {
    database?.close();
  }
}

/**
 * Removes the exported counts from a restored database that no process uses, so that counts begin again with
 * a new start time. Receivers have seen higher counts since the backup. They would treat lower counts with
 * the old start time as a reset (OpenTelemetry's data model, "Resets and Gaps").
 */
export function forgetExportedCounts(path: string): void {
  const database = new DatabaseSync(path);
  try {
    database.exec('DELETE FROM export_totals; DELETE FROM export_notes');
  } finally {
    database.close();
  }
}

function checkKeys(database: DatabaseSync, path: string, { key, previous }: SecretKeys): void {
  const row = database.prepare("SELECT value FROM facts WHERE key = 'secret_probe'").get();
  if (row === undefined) return; // No coordinator has started with this database yet.
  const bytes = (secret: Secret): Uint8Array => parseSecretKey(secret).reveal();
  const secrets = new Secrets(bytes(key), previous === null ? null : bytes(previous));
  try {
    secrets.open('facts.secret_probe', Buffer.from(String(row.value), 'base64'));
  } catch (error) {
    const message = `the secret key is not the one of ${path}: give the key that the coordinator had when this backup was made`;
    throw new SvcError('bad-backup', message, { cause: error });
  }
}
