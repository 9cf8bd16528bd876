import { createHash } from 'node:crypto';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { createEgressGuard, type EgressGuard } from '@svc/shared/egress.ts';
import { codeOf, messageOf, SvcError } from '@svc/shared/errors.ts';
import { attributeWarnings } from '@svc/shared/resources/registry.ts';
import { pageWarnings } from '../page-warnings.ts';
import { addressOf, type DeclaredEntry, type LocatedError } from './declaration.ts';
import { readDeclaration } from './parse.ts';
import type { ReadOutcome, ReadRequest } from './read.ts';
import { type InsertedFile, MAX_FILE_BYTES, MAX_INSERTED_BYTES } from './sources.ts';

/**
 * Maximum number of errors that are returned, and maximum number of warnings.
 * More would not help, because users correct the first errors first.
 */
const MAX_ERRORS = 1_000;

/**
 * Reads and validates the declared file. Yields lists of entries, and returns the
 * outcome. The function blocks its thread, so it must not run on the main thread. It does
 * not throw if the file is invalid or missing: the outcome contains an error instead.
 */
export function* readDeclaredFile({
  path,
  env,
  channelEgressAllow = [],
  regions,
}: ReadRequest): Generator<readonly DeclaredEntry[], ReadOutcome> {
  const file = basename(path);
  let content: ReadText;
  try {
    content = readText(path, MAX_FILE_BYTES, path);
  } catch (error) {
    const errors = [{ file, line: 1, column: 1, message: messageOf(error) }];
    return { digest: '', inserted: { files: [], variables: [] }, errors, warnings: [] };
  }
  const guard = createEgressGuard({ base: 'channel', deny: [], allow: channelEgressAllow });
  const inserted = new InsertedFiles(dirname(path));
  const variables = new Set<string>();
  const warnings: LocatedError[] = [];
  const entries = readDeclaration(content.text, file, {
    env,
    onVariable: (name) => variables.add(name),
    readFile: (name) => inserted.read(name),
    regions,
  });
  let next = entries.next();
  for (; next.done !== true; next = entries.next()) {
    for (const entry of next.value) warnings.push(...warningsOf(file, entry, guard));
    yield next.value;
  }
  return {
    digest: content.digest,
    inserted: { files: inserted.all(), variables: [...variables] },
    errors: next.value.slice(0, MAX_ERRORS),
    warnings: warnings.slice(0, MAX_ERRORS),
  };
}

/**
 * Returns warnings about parts of a valid entry that are
 * probably mistakes. Their position is that of the entry.
 */
function warningsOf(file: string, entry: DeclaredEntry, guard: EgressGuard): LocatedError[] {
  const { kind, attributes, line, column } = entry;
  const messages =
    kind === 'svc_status_page' ? pageWarnings(attributes, guard) : attributeWarnings(kind, attributes);
  return messages.map((message) => ({ file, line, column, message: `${addressOf(entry)}: ${message}` }));
}

/**
 * The files that a declaration inserts. Each file is read
 * only once, so that all entries get the same content.
 */
class InsertedFiles {
  readonly #folder: string;
  readonly #files = new Map<string, ReadText | Error>();

  /** @param folder folder that the names of files are relative to */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Returns the text of an inserted file.
   *
   * @throws Error that says why the file cannot be read
   */
  read(name: string): string {
    let file = this.#files.get(name);
    if (file === undefined) {
      try {
        file = readText(name, MAX_INSERTED_BYTES, resolve(this.#folder, name));
      } catch (error) {
        file = error as Error;
      }
      this.#files.set(name, file);
    }
    if (file instanceof Error) throw file;
    return file.text;
  }

  all(): InsertedFile[] {
    return [...this.#files].map(([name, file]) => ({
      name,
      digest: file instanceof Error ? null : file.digest,
    }));
  }
}

/** Maximum size of one read, bytes. */
const CHUNK_BYTES = 65_536;

/**
 * Reads a whole file. The size in the file's status is not used, because a device or a pipe has no size,
 * and a file may grow while it is read. The function does not wait for a process that writes to a pipe.
 *
 * @throws SvcError `file-unreadable` when the file has more than `maxBytes` bytes, or an error of the system
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

type ReadText = {
  readonly text: string;
  /** SHA-256 of the bytes, hex. */
  readonly digest: string;
};

/**
 * Reads a file in UTF-8.
 *
 * @throws SvcError `file-unreadable`. Its message says why, and contains nothing of the file's content
 */
function readText(name: string, maxBytes: number, path: string): ReadText {
  try {
    const bytes = readBounded(path, maxBytes);
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return { text, digest: createHash('sha256').update(bytes).digest('hex') };
  } catch (error) {
    throw new SvcError('file-unreadable', `cannot read ${name}: ${reason(error)}`, { cause: error });
  }
}

function reason(error: unknown): string {
  switch (codeOf(error)) {
    case 'ENOENT':
      return 'the file does not exist';
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
