import { access, constants, open } from 'node:fs/promises';
import { join } from 'node:path';
import { COORDINATOR_SETTINGS, databaseFileOf } from '@svc/coordinator/config.ts';
import {
  API_TOKEN_FILE,
  PREVIOUS_SECRET_KEY_FILE,
  readSecretFile,
  SECRET_KEY_FILE,
} from '@svc/coordinator/store/access/key-files.ts';
import { isCode, messageOf } from '@svc/shared/errors.ts';
import { type Finding, findingsOf, type Subject } from './finding.ts';

const { failed } = findingsOf('files');

/**
 * The first bytes of every SQLite database that is not empty (https://www.sqlite.org/fileformat2.html,
 * section 1.3).
 */
const SQLITE = 'SQLite format 3\0';

/**
 * Finds files with which the coordinator would not start. Missing files of the data folder
 * are no problem: the coordinator creates them. Only the beginning of the database is
 * read, because opening the database creates files that may then belong to another user.
 */
export async function startFileFindings(subject: Subject): Promise<Finding[]> {
  if (subject.role === 'agent') return [];
  const { dataDir, databaseUrl, secretKey, apiToken, config: declared } = subject.config;
  const file = databaseFileOf(databaseUrl, dataDir);
  const inFolder = (name: string): string => join(dataDir, name);
  const found = await Promise.all([
    ...(secretKey === undefined
      ? [keyFinding(inFolder(SECRET_KEY_FILE)), keyFinding(inFolder(PREVIOUS_SECRET_KEY_FILE))]
      : []),
    ...(apiToken === undefined ? [tokenFinding(inFolder(API_TOKEN_FILE))] : []),
    ...(file === null ? [] : [databaseFinding(file)]),
    ...(declared === undefined ? [] : [declaredFinding(declared)]),
  ]);
  return found.filter((finding) => finding !== null);
}

function keyFinding(path: string): Promise<Finding | null> {
  return secretFinding(
    path,
    COORDINATOR_SETTINGS.secretKey.schema,
    'put the file of a backup in its place: without this key the stored secrets cannot be read',
  );
}

function tokenFinding(path: string): Promise<Finding | null> {
  return secretFinding(
    path,
    COORDINATOR_SETTINGS.apiToken.schema,
    'put the file of a backup in its place, or remove it to have a new token made',
  );
}

type Parsed = { readonly error?: { readonly issues: readonly { readonly message: string }[] } | undefined };

/**
 * Checks a file that holds a secret. Returns null when the secret is valid, or when the file does not exist.
 */
async function secretFinding(
  path: string,
  schema: { safeParse(text: string): Parsed },
  todo: string,
): Promise<Finding | null> {
  try {
    const secret = await readSecretFile(path);
    const problems = secret === null ? [] : (schema.safeParse(secret.reveal()).error?.issues ?? []);
    if (problems.length === 0) return null;
    return failed(`${path}: ${problems.map(({ message }) => message).join('; ')}`, todo);
  } catch (error) {
    return failed(`cannot use ${path}: ${messageOf(error)}`, todo);
  }
}

async function databaseFinding(path: string): Promise<Finding | null> {
  try {
    const begins = await beginningOf(path);
    if (begins === '' || begins === SQLITE) return null;
    return failed(`${path} is damaged, or is no database of SQLite`, 'restore a backup with "svc restore"');
  } catch (error) {
    return isCode(error, 'ENOENT') ? null : unreadable(path, error);
  }
}

async function declaredFinding(path: string): Promise<Finding | null> {
  try {
    await access(path, constants.R_OK);
    return null;
  } catch (error) {
    if (isCode(error, 'ENOENT'))
      return failed(
        `there is no ${path}, which SVC_CONFIG names`,
        'put the declared file there, with the files that it inserts: each coordinator needs its own copy',
      );
    return unreadable(path, error);
  }
}

async function beginningOf(path: string): Promise<string> {
  const file = await open(path, 'r');
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(SQLITE.length), 0, SQLITE.length, 0);
    return buffer.toString('latin1', 0, bytesRead);
  } finally {
    await file.close();
  }
}

function unreadable(path: string, error: unknown): Finding {
  return failed(
    `cannot read ${path}: ${messageOf(error)}`,
    'give the file to the user of the coordinator, and call the doctor as that user',
  );
}
