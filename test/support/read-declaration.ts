import type { DeclaredEntry, LocatedError } from '@svc/coordinator/declaration/yaml/declaration.ts';
import { readDeclaration } from '@svc/coordinator/declaration/yaml/parse.ts';
import type { ReadDeclaration } from '@svc/coordinator/declaration/yaml/read.ts';
import { readDeclaredFile } from '@svc/coordinator/declaration/yaml/read-file.ts';

/** Reads a declaration to its end. */
export function parseDeclaration(...reading: Parameters<typeof readDeclaration>): {
  entries: readonly DeclaredEntry[];
  errors: readonly LocatedError[];
} {
  const { all, outcome } = drained(readDeclaration(...reading));
  return { entries: all, errors: outcome };
}

/** Reads a declared file to its end, on this thread. */
export function readOnThisThread(...reading: Parameters<typeof readDeclaredFile>): ReadDeclaration {
  const { all, outcome } = drained(readDeclaredFile(...reading));
  return { ...outcome, entries: all };
}

function drained<T, R>(parts: Generator<readonly T[], R>): { all: T[]; outcome: R } {
  const all: T[] = [];
  let next = parts.next();
  for (; next.done !== true; next = parts.next()) all.push(...next.value);
  return { all, outcome: next.value };
}
