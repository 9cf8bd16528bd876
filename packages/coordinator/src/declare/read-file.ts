import { createHash } from 'node:crypto';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { messageOf, SvcError } from '@svc/shared/errors.ts';
import type { DeclaredEntry } from './declaration.ts';
import { parseDeclaration } from './parse.ts';
import { MAX_ERRORS, type ReadOutcome, type ReadRequest } from './read-protocol.ts';

/** Largest declared file; 100,000 monitors need about 20 MiB. */
const MAX_FILE_BYTES = 64 * 1_024 * 1_024;
/** Largest file that is inserted. */
const MAX_INSERTED_BYTES = 1_024 * 1_024;

/**
 * Reads and validates the declared file. Blocks for as long as that takes: not for the main thread.
 * Whatever is wrong, the file not being there included, is among the errors.
 */
export function readDeclaredFile({
  path,
  env,
}: ReadRequest): ReadOutcome & { entries: readonly DeclaredEntry[] } {
  const file = basename(path);
  const inserted = new Set<string>();
  const readFile = (name: string) => {
    const absolute = resolve(dirname(path), name);
    inserted.add(absolute);
    return decoded(name, MAX_INSERTED_BYTES, absolute);
  };
  let text: string;
  try {
    text = decoded(path, MAX_FILE_BYTES, path);
  } catch (error) {
    const errors = [{ file, line: 1, column: 1, message: messageOf(error) }];
    return { digest: '', insertedFiles: [], errors, entries: [] };
  }
  const { entries, errors } = parseDeclaration(text, file, { env, readFile });
  return {
    digest: createHash('sha256').update(text).digest('hex'),
    insertedFiles: [...inserted],
    errors: errors.slice(0, MAX_ERRORS),
    entries,
  };
}

/** Bytes that are read at once. */
const CHUNK_BYTES = 65_536;

/**
 * Reads at most the bound, whatever the file is: a device or a pipe tells no size, and a file may grow meanwhile. A
 * pipe without a writer is not waited for.
 */
function readBounded(path: string, maxBytes: number): Buffer {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const chunks: Buffer[] = [];
    let length = 0;
    for (;;) {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      const read = readSync(file, chunk);
      if (read === 0) return Buffer.concat(chunks);
      length += read;
      if (length > maxBytes) throw new SvcError('file-unreadable', `it has more than ${maxBytes} bytes`);
      chunks.push(chunk.subarray(0, read));
    }
  } finally {
    closeSync(file);
  }
}

/** @throws Error that says why the file cannot be read; without its content */
function decoded(name: string, maxBytes: number, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readBounded(path, maxBytes));
  } catch (error) {
    throw new SvcError('file-unreadable', `cannot read ${name}: ${reason(error)}`, { cause: error });
  }
}

function reason(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  switch (code) {
    case 'ENOENT':
      return 'there is no such file';
    case 'EACCES':
      return 'permission denied';
    case 'EISDIR':
      return 'it is a folder';
    case 'ERR_ENCODING_INVALID_ENCODED_DATA':
      return 'it is not UTF-8 text';
    default:
      return messageOf(error);
  }
}
