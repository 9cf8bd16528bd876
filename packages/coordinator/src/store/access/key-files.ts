import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { isCode, SvcError } from '@svc/shared/errors.ts';
import { Secret } from '@svc/shared/secret.ts';

/** File in the data folder with the key that seals secrets. svc generates the key if no setting gives it. */
export const SECRET_KEY_FILE = 'secret-key';
/** File in the data folder with the previous key. `secret-key rotate` writes this file. */
export const PREVIOUS_SECRET_KEY_FILE = 'secret-key-previous';
/**
 * File in the data folder with the operator's API token, which svc generates if no setting gives one. While
 * the token is rotated, the file has the new token and, in a second line, the old token.
 */
export const API_TOKEN_FILE = 'api-token';

/**
 * Returns the secret in the file `name` of `folder`. If the file is missing, this function generates the
 * secret and stores it.
 *
 * Only the owner may read a file that this function makes. If several processes start at once, they all get
 * the same secret. After a crash, the file is whole or missing.
 *
 * @throws SvcError `secret-file-empty`
 */
export async function generatedSecret(folder: string, name: string, generate: () => string): Promise<Secret> {
  const path = join(folder, name);
  const known = await readSecretFile(path);
  if (known !== null) return known;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await createWhole(path, `${generate()}\n`);
  const made = await readSecretFile(path);
  if (made === null)
    throw new SvcError('secret-file-empty', `${path} is empty: remove it to have a new secret made`);
  return made;
}

/**
 * The key that seals secrets, and the previous key, which may still seal some of them. Both are in base64.
 * `previous` null: there is no previous key.
 */
export type SecretKeys = { readonly key: Secret; readonly previous: Secret | null };

/**
 * Returns the keys in the data folder. If there is no key yet, `generate` makes it.
 *
 * @throws SvcError `secret-file-empty`
 */
export async function keptKeys(folder: string, generate: () => string): Promise<SecretKeys> {
  // The key is read before the previous key. `secret-key rotate` stores the previous key before it replaces
  // the key, so a new key is never read without its previous key.
  const key = await generatedSecret(folder, SECRET_KEY_FILE, generate);
  return { key, previous: await readSecretFile(join(folder, PREVIOUS_SECRET_KEY_FILE)) };
}

/**
 * Removes the previous key. Call this only when no value is sealed with the previous key any more.
 *
 * @param keys the answer of {@link keptKeys}. If another rotation has begun since that answer, the file
 *   stays, because it now has the key with which all values may be sealed
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

/**
 * The secret in a file; null: the file is missing.
 *
 * @throws SvcError `secret-file-empty`
 */
export async function readSecretFile(path: string): Promise<Secret | null> {
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

/**
 * Writes a file under a temporary name, and then links it to its final name. A link, unlike a rename, never
 * replaces a file that another process created first.
 */
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
