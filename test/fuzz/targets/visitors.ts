import { deepEqual, equal, ok } from 'node:assert/strict';
import { expectedVersions, isNotModified } from '@svc/coordinator/api/entity-tag.ts';
import { Problem } from '@svc/coordinator/api/problem.ts';
import { mailboxKey, parseMailAddress } from '@svc/coordinator/pages/access/mail-address.ts';
import { imageTypeOf } from '@svc/coordinator/pages/icons/icon-fetches.ts';
import { languageOf } from '@svc/coordinator/pages/text/texts.ts';
import { type FuzzTarget, latin1, never } from '../target.ts';

/** An address that somebody types into the form of a status page, and that mails go to. */
export const MAIL_ADDRESS: FuzzTarget = {
  name: 'mail-address',
  corpus: ['ann@example.com', ' Ann.B+tag@Ex-Ample.com ', "o'hara@bücher.example", 'a@b.c'].map((text) =>
    Buffer.from(text),
  ),
  words: ['@', '.', '..', '+', '"', '<', '>', ',', '\r\n', '\n', '\0', ' ', 'xn--', '\u200b', '。', '-', '_'],
  parse: (input) => parseMailAddress(input.toString()),
  isRefusal: never,
  check(input) {
    const read = parseMailAddress(input.toString());
    if (read === null) return;
    ok(/^[\x21-\x7e]+@[a-z0-9._-]+$/.test(read.address), `what goes into a mail: ${read.address}`);
    ok(!/[<>(),:;"\\[\]]/.test(read.address), `what ends an address in a header: ${read.address}`);
    deepEqual(parseMailAddress(read.address), read, 'the address that is read again');
    equal(mailboxKey(read).split('@').length, 2, 'its mailbox');
  },
};

/** The first bytes of an icon of a status page. */
export const ICON: FuzzTarget = {
  name: 'icon',
  corpus: [
    '\x89PNG\r\n\x1a\nrest',
    'RIFF1234WEBP',
    '<?xml version="1.0"?>\n<!-- a --><!DOCTYPE svg [<!ENTITY a "b">]>\n<svg xmlns="a">',
    '<svg>',
  ].map(latin1),
  words: [
    '<!--',
    '-->',
    '<!DOCTYPE',
    '<?xml',
    '?>',
    '<svg',
    '[',
    ']',
    '>',
    ' ',
    '\n',
    '\xef\xbb\xbf',
    'GIF89a',
  ],
  parse: (input) => imageTypeOf(input),
  isRefusal: never,
  check: (input) =>
    equal(imageTypeOf(input.subarray(0, 4_096)), imageTypeOf(input), 'what its beginning says'),
};

/** Request headers of browsers for pages, and of clients for objects. */
export const CONDITIONS: FuzzTarget = {
  name: 'conditions',
  corpus: ['"3-ab"', 'W/"3-ab", "4"', '*', 'de-CH,de;q=0.9,en;q=0.8', ', ,"1" ,\t"2",'].map(latin1),
  words: ['"', 'W/', ',', ' ', '\t', '*', ';q=', '0.', 'de', 'en', '-', '"1"', '999999999999999'],
  parse(input) {
    const text = input.toString('latin1');
    return [languageOf(null, text), isNotModified(text, '"1-a"'), expectedVersions(text)];
  },
  isRefusal: (error) => error instanceof Problem && error.code === 'malformed-request',
};
