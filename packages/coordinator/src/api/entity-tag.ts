import { createHash } from 'node:crypto';
import { Problem } from './problem.ts';

/**
 * Makes the strong ETag of a resource in an answer. The tag contains the version of the row, which
 * `If-Match` compares. It also contains a digest of the answer, because a status or a warning can
 * change without a write to the row. The digest leaves out `age_ms`, which differs in every answer.
 */
export function entityTag(rowVersion: number, view: object): string {
  const text = JSON.stringify(view, (name, value) => (name === 'age_ms' ? undefined : value));
  return `"${rowVersion}-${createHash('sha256').update(text).digest('base64url').slice(0, 16)}"`;
}

/**
 * Returns the versions that `If-Match` allows; undefined: any version. Only the version in a tag is
 * compared, not the digest. Weak tags (RFC 9110, section 13.1.1) and tags without a version match nothing.
 *
 * @throws Problem `malformed-request`
 */
export function expectedVersions(ifMatch: string | undefined): readonly number[] | undefined {
  const tags = entityTags('If-Match', ifMatch);
  if (tags === undefined || tags === '*') return undefined;
  return tags.flatMap((tag) => {
    const version = /^"(\d{1,15})(?:-[\w-]*)?"$/.exec(tag)?.[1];
    return version === undefined ? [] : [Number(version)];
  });
}

/**
 * Whether `If-None-Match` contains the tag of the answer. A weak
 * tag matches like a strong one (RFC 9110, section 13.1.2).
 *
 * @throws Problem `malformed-request`
 */
export function isNotModified(ifNoneMatch: string | undefined, tag: string): boolean {
  const tags = entityTags('If-None-Match', ifNoneMatch);
  return tags === '*' || (tags ?? []).some((known) => known.replace(/^W\//, '') === tag);
}

/** Reads a list of tags (RFC 9110, sections 8.8.3 and 5.6.1). Empty members of the list are ignored. */
function entityTags(header: string, value: string | undefined): readonly string[] | '*' | undefined {
  const text = value?.trim();
  if (text === undefined || text === '*') return text;
  const member = '(?:W/)?"[\\x21\\x23-\\x7e\\x80-\\xff]*"';
  if (text !== '' && new RegExp(`^[\\s,]*(?:${member}(?:\\s*,[\\s,]*|$))+$`).test(text)) {
    return text.match(new RegExp(member, 'g')) ?? [];
  }
  throw new Problem('malformed-request', `${header} must be * or a list of entity tags, like "3-ab"`);
}
