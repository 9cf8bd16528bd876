import { withoutEffect } from '@svc/shared/resources/without-effect.ts';
import { addressOf, type DeclaredEntry } from './declaration.ts';
import type { LocatedError } from './located-error.ts';

/** What of a valid declaration has no effect, where the entries stand. */
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
