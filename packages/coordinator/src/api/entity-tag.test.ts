import { describe, expect, test } from 'vitest';
import { entityTag, expectedVersions, isNotModified } from './entity-tag.ts';

const TAG = entityTag(3, { status: 'active' });

describe('an entity tag', () => {
  test('changes with the version and the content, but not with the age of a vote', () => {
    expect(TAG).toMatch(/^"3-[\w-]{16}"$/);
    expect(entityTag(4, { status: 'active' })).not.toBe(TAG);
    expect(entityTag(3, { status: 'error' })).not.toBe(TAG);
    expect(entityTag(3, { votes: [{ age_ms: 1 }] })).toBe(entityTag(3, { votes: [{ age_ms: 2 }] }));
  });
});

describe('If-Match', () => {
  test.each([
    ['nothing', undefined, undefined],
    ['any', ' * ', undefined],
    ['our tag', TAG, [3]],
    ['a list', `"7" , ${TAG},"x"`, [7, 3]],
    ['empty members of a list', `,, ${TAG} ,`, [3]],
    ['a weak tag, which never matches', `W/${TAG}`, []],
    ['a tag with a comma in it', '"3,4"', []],
    ['a tag of somebody else', '"abc"', []],
  ])('%s', (_name, header, expected) => {
    expect(expectedVersions(header)).toEqual(expected);
  });

  test.each(['', '3', '"3', 'w/"3"', '"3" "4"', '*, "3"', '"a\u0000"'])('refuses %j', (header) => {
    expect(() => expectedVersions(header)).toThrow('must be * or a list of entity tags');
  });

  test('a long invalid header is refused quickly', () => {
    expect(() => expectedVersions(`${'"a" , '.repeat(5_000)}x`)).toThrow('list of entity tags');
  });
});

describe('If-None-Match', () => {
  test.each([
    ['nothing', undefined, false],
    ['any', '*', true],
    ['the same', TAG, true],
    ['the same, made weak on the way', `W/${TAG}`, true],
    ['one of a list', `"x", ${TAG}`, true],
    ['another version', '"4-x"', false],
  ])('%s', (_name, header, expected) => {
    expect(isNotModified(header, TAG)).toBe(expected);
  });
});
