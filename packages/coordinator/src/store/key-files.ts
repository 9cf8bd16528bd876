import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { SvcError } from '@svc/shared/errors.ts';
import { Secret } from '@svc/shared/secret.ts';

/** Names in the data folder of the secrets that svc makes itself when the settings give none. */
export const SECRET_KEY_FILE = 'secret-key';
/** The key before, which `secret-key rotate` leaves beside the new one. */
export const PREVIOUS_SECRET_KEY_FILE = 'secret-key-previous';
export const API_TOKEN_FILE = 'api-token';

/**
 * The secret kept in `folder` under `name`, made by `generate` when there is none. Only the owner may
 * read the file. Of several processes that start at once, all get the same secret; a crash leaves a
 * whole file or none.
 */
export async function generatedSecret(folder: string, name: string, generate: () => string): Promise<Secret> {
  const path = join(folder, name);
  const known = await readSecret(path);
  if (known !== null) return known;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await createWhole(path, `${generate()}\n`);
  const made = await readSecret(path);
  if (made === null)
    throw new SvcError('secret-file-empty', `${path} is empty: remove it to have a new secret made`);
  return made;
}

/** The key of the secrets, and the one before while the key takes its place; both in base64. */
export type SecretKeys = { readonly key: Secret; readonly previous: Secret | null };

/** The keys of the data folder; the key is made by `generate` when there is none. */
export async function keptKeys(folder: string, generate: () => string): Promise<SecretKeys> {
  // In this order: `secret-key rotate` keeps the former key before it replaces the file.
  const key = await generatedSecret(folder, SECRET_KEY_FILE, generate);
  return { key, previous: await readSecret(join(folder, PREVIOUS_SECRET_KEY_FILE)) };
}

/**
 * Removes the key before, with which nothing is sealed any more.
 *
 * @param keys as {@link keptKeys} answered them. Where a rotation began since, the file has the key that everything
 *   is sealed with: it stays.
 */
export async function forgetPreviousKey(folder: string, keys: SecretKeys): Promise<void> {
  if (keys.previous === null) return;
  const now = await keptKeys(folder, () => keys.key.reveal());
  if (!isSame(now.key, keys.key) || !isSame(now.previous, keys.previous)) return;
  await rm(join(folder, PREVIOUS_SECRET_KEY_FILE), { force: true });
}

function isSame(one: Secret | null, other: Secret | null): boolean {
  return one?.reveal() === other?.reveal();
}

async function readSecret(path: string): Promise<Secret | null> {
  try {
    const text = (await readFile(path, 'utf8')).trim();
    if (text === '')
      throw new SvcError('secret-file-empty', `${path} is empty: remove it to have a new secret made`);
    return new Secret(text);
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null;
    throw error;
  }
}

/** RowOutcome beside and then linked: unlike rename, a link never replaces what another process made first. */
async function createWhole(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  try {
    await link(draft, path);
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error;
  } finally {
    await unlink(draft);
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
