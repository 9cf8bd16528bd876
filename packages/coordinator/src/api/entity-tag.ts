import { Problem } from './problem.ts';

/** The strong ETag of a row's version. */
export function entityTag(rowVersion: number): string {
  return `"${rowVersion}"`;
}

/**
 * The version that `If-Match` asks for; undefined when any will do.
 *
 * @throws Problem `precondition-failed` for a tag that no row can have, `malformed-request` for several
 */
export function expectedVersion(ifMatch: string | undefined): number | undefined {
  const tag = ifMatch?.trim();
  if (tag === undefined || tag === '*') return undefined;
  const version = /^"(\d{1,15})"$/.exec(tag)?.[1];
  if (version !== undefined) return Number(version);
  if (tag.includes(',')) throw new Problem('malformed-request', 'If-Match takes one entity tag');
  throw new Problem('precondition-failed', 'If-Match names no version that this resource has had');
}
