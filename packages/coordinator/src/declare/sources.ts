import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { AppliedDeclaration } from '../store/applied-declaration.ts';
import type { SealPurpose, Secrets } from '../store/secrets.ts';
import { MAX_FILE_BYTES, MAX_INSERTED_BYTES } from './read-limits.ts';
import type { InsertedFile } from './read-protocol.ts';

/**
 * What a declaration is made of. The same sources declare the same, so that they need not be parsed again.
 */
export type DeclarationSources = {
  /** Version of svc: another one may read the same file in another way. */
  readonly version: string;
  /** SHA-256 of the declared file, hex. */
  readonly digest: string;
  readonly files: readonly InsertedFile[];
  /** The environment variables that are inserted, with their values. */
  readonly variables: Readonly<Record<string, string | undefined>>;
};

const PURPOSE: SealPurpose = 'facts.declared_sources';

/** Keyed, because values of the environment can be guessed: nobody without the key can try them out. */
export function fingerprintOf(secrets: Secrets, sources: DeclarationSources): string {
  return secrets.fingerprint(PURPOSE, textOf(sources));
}

export function isFingerprintOf(secrets: Secrets, fingerprint: string, sources: DeclarationSources): boolean {
  return secrets.isFingerprint(fingerprint, PURPOSE, textOf(sources));
}

function textOf({ version, digest, files, variables }: DeclarationSources): string {
  const inserted = files.map((file): [string, string | null] => [file.name, file.digest]);
  const values = Object.entries(variables).map(([name, value]): [string, string | null] => [
    name,
    value ?? null,
  ]);
  return JSON.stringify([version, digest, sorted(inserted), sorted(values)]);
}

function sorted(pairs: readonly [string, string | null][]): readonly [string, string | null][] {
  return pairs.toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** The values of these variables, in a record without inherited names. */
export function valuesOf(
  names: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  const values: Record<string, string | undefined> = Object.create(null);
  for (const name of names) values[name] = Object.hasOwn(env, name) ? env[name] : undefined;
  return values;
}

/**
 * The sources of the applied declaration as they are now; null when one of them cannot be read. Files are read a piece
 * at a time: the thread is never held for more than a millisecond.
 *
 * @param now.path of the declared file
 */
export async function sourcesNow(
  {
    path,
    version,
    env,
  }: { path: string; version: string; env: Readonly<Record<string, string | undefined>> },
  applied: Pick<AppliedDeclaration, 'files' | 'variables'>,
  signal: AbortSignal,
): Promise<DeclarationSources | null> {
  const digest = await digestOf(path, MAX_FILE_BYTES, signal);
  if (digest === null) return null;
  const files: InsertedFile[] = [];
  for (const name of applied.files) {
    const inserted = await digestOf(resolve(dirname(path), name), MAX_INSERTED_BYTES, signal);
    if (inserted === null) return null;
    files.push({ name, digest: inserted });
  }
  return { version, digest, files, variables: valuesOf(applied.variables, env) };
}

/** Bytes that are read at once: some 0.2 ms of hashing. */
const CHUNK_BYTES = 131_072;

/** SHA-256, hex; null for what cannot be read, is no regular file, or is larger than the bound. */
async function digestOf(path: string, maxBytes: number, signal: AbortSignal): Promise<string | null> {
  let file: FileHandle;
  try {
    // Without waiting: a pipe may have no writer.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    // What is wrong with it is found out, and told, by whoever reads it next.
    return null;
  }
  try {
    return (await file.stat()).isFile() ? await digestOfContent(file, maxBytes, signal) : null;
  } catch {
    signal.throwIfAborted();
    return null;
  } finally {
    await file.close();
  }
}

async function digestOfContent(
  file: FileHandle,
  maxBytes: number,
  signal: AbortSignal,
): Promise<string | null> {
  const hash = createHash('sha256');
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  for (let length = 0; ; ) {
    signal.throwIfAborted();
    const { bytesRead } = await file.read(chunk);
    if (bytesRead === 0) return hash.digest('hex');
    length += bytesRead;
    if (length > maxBytes) return null;
    hash.update(chunk.subarray(0, bytesRead));
  }
}
