import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Region } from '@svc/shared/regions.ts';
import type { AppliedDeclaration } from '../../store/declaration/applied-declaration.ts';
import type { SealPurpose, Secrets } from '../../store/declaration/secrets.ts';

/**
 * Maximum size of the declared file, bytes. `MAX_INSERTED_BYTES`: maximum size of an inserted file, bytes.
 */
export const MAX_FILE_BYTES = 64 * 1_024 * 1_024;
export const MAX_INSERTED_BYTES = 1_024 * 1_024;

/** The files and variables that a declaration inserts. */
export type Inserted = {
  readonly files: readonly InsertedFile[];
  /** Names of environment variables. */
  readonly variables: readonly string[];
};

export type InsertedFile = {
  /** Name of the file as the declared file writes it. A relative name counts from the declared file's folder. */
  readonly name: string;
  /** SHA-256, hex; null: the file could not be read. */
  readonly digest: string | null;
};

/**
 * All sources of a declaration. Equal sources lead to equal
 * resources and warnings, so they need not be parsed again.
 */
export type DeclarationSources = {
  /** Version of svc. Different versions may read the same file differently. */
  readonly version: string;
  /** SHA-256 of the declared file, hex. */
  readonly digest: string;
  readonly files: readonly InsertedFile[];
  /** The inserted environment variables with their values. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Value of SVC_CHANNEL_EGRESS_ALLOW, on which the warnings depend. */
  readonly channelEgressAllow: readonly string[];
  /** The regions of the installation, which monitors may name; empty: the 28. */
  readonly regions: readonly Region[];
};

const PURPOSE: SealPurpose = 'facts.declared_sources';

/**
 * Makes a digest of the sources with a secret key. The values of variables may be secrets that
 * are easy to guess. Without the key, a guess cannot be tested against the digest.
 */
export function fingerprintOf(secrets: Secrets, sources: DeclarationSources): string {
  return secrets.fingerprint(PURPOSE, textOf(sources));
}

export function isFingerprintOf(secrets: Secrets, fingerprint: string, sources: DeclarationSources): boolean {
  return secrets.isFingerprint(fingerprint, PURPOSE, textOf(sources));
}

function textOf({
  version,
  digest,
  files,
  variables,
  channelEgressAllow,
  regions,
}: DeclarationSources): string {
  const inserted = files.map((file): [string, string | null] => [file.name, file.digest]);
  const values = Object.entries(variables).map(([name, value]): [string, string | null] => [
    name,
    value ?? null,
  ]);
  return JSON.stringify([version, digest, sorted(inserted), sorted(values), channelEgressAllow, regions]);
}

function sorted(pairs: readonly [string, string | null][]): readonly [string, string | null][] {
  return pairs.toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** Returns the values of these environment variables, in a record without a prototype. */
export function valuesOf(
  names: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  const values: Record<string, string | undefined> = Object.create(null);
  for (const name of names) values[name] = Object.hasOwn(env, name) ? env[name] : undefined;
  return values;
}

/**
 * Reads the present sources of the applied declaration; null: a file cannot be read, is not regular or is too
 * large. Files are hashed in chunks, so the thread is blocked for less than 1 ms at a time.
 *
 * @param now.path path of the declared file
 * @throws the reason of the signal when it aborts
 */
export async function sourcesNow(
  {
    path,
    version,
    env,
    channelEgressAllow,
    regions,
  }: Pick<DeclarationSources, 'version' | 'channelEgressAllow' | 'regions'> & {
    path: string;
    env: Readonly<Record<string, string | undefined>>;
  },
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
  const variables = valuesOf(applied.variables, env);
  return { version, digest, files, variables, channelEgressAllow, regions };
}

/** Size of one read, bytes. Hashing so many bytes takes about 0.2 ms. */
const CHUNK_BYTES = 131_072;

/**
 * Returns the SHA-256 of a file, hex; null: the file cannot be read, is not regular, or exceeds `maxBytes`.
 */
async function digestOf(path: string, maxBytes: number, signal: AbortSignal): Promise<string | null> {
  let file: FileHandle;
  try {
    // Without O_NONBLOCK, opening a pipe would wait for a process that writes to it.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    // The error is found again, and reported, when the declared file is read next.
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
