import { withoutEffect } from '@svc/shared/resources/without-effect.ts';
import { addressOf, type DeclaredEntry } from './declaration.ts';
import type { LocatedError } from './located-error.ts';

/** Parts of a valid declaration that have no effect, at the places of their entries. */
export function warningsOf(file: string, entries: readonly DeclaredEntry[]): LocatedError[] {
  return entries.flatMap((entry) =>
    withoutEffect(entry.kind, entry.attributes).map((message) => ({
      file,
      line: entry.line,
      column: entry.column,
      message: `${addressOf(entry)}: ${message}`,
    })),
  );
}
