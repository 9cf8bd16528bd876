import type { EgressGuard } from '@svc/shared/egress.ts';
import { attributeWarnings } from '@svc/shared/resources/warnings.ts';
import { pageWarnings } from '../configuration/page-warnings.ts';
import { addressOf, type DeclaredEntry } from './declaration.ts';
import type { LocatedError } from './located-error.ts';

/** Parts of a valid declaration that somebody hardly means, at the places of their entries. */
export function warningsOf(
  file: string,
  entries: readonly DeclaredEntry[],
  guard: EgressGuard,
): LocatedError[] {
  return entries.flatMap((entry) => {
    const { kind, attributes, line, column } = entry;
    const messages =
      kind === 'svc_status_page' ? pageWarnings(attributes, guard) : attributeWarnings(kind, attributes);
    return messages.map((message) => ({ file, line, column, message: `${addressOf(entry)}: ${message}` }));
  });
}
