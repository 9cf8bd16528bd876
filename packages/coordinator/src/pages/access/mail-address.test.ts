import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isOfDomains, mailboxKey, parseMailAddress } from './mail-address.ts';

const allowed = (text: string, ...domains: string[]) => {
  const address = parseMailAddress(text);
  return address !== null && isOfDomains(address, domains);
};

describe('an address of a visitor', () => {
  test.each([
    ['ada@example.com', 'ada@example.com'],
    ['  ada@example.com\n', 'ada@example.com'],
    ['Ada@EXAMPLE.com', 'Ada@example.com'],
    ['ada@bücher.example', 'ada@xn--bcher-kva.example'],
    ['ada@ｅxample.com', 'ada@example.com'],
    ["o'hara+tag@example.com", "o'hara+tag@example.com"],
  ])('%j is read as %j', (text, address) => {
    expect(parseMailAddress(text)?.address).toBe(address);
  });

  test.each([
    '',
    'ada',
    '@example.com',
    'ada@',
    'ada@evil.example@example.com',
    'ada@example.com@evil.example',
    '"ada@evil.example"@example.com',
    'ada@example.com.',
    'ada@example.com,eve@evil.example',
    'ada@example.com\r\nbcc: eve@evil.example',
    'ada <ada@example.com>',
    'ada@[127.0.0.1]',
    'ada@127.0.0.1',
    'ada@exa mple.com',
    'adа@example.com',
    `${'a'.repeat(65)}@example.com`,
    `ada@${'a.'.repeat(130)}com`,
  ])('%j is none', (text) => {
    expect(parseMailAddress(text)).toBeNull();
  });

  test('is parsed to itself again', () => {
    fc.assert(
      fc.property(fc.emailAddress(), (text) => {
        const address = parseMailAddress(text);
        fc.pre(address !== null);
        expect(parseMailAddress(address?.address ?? '')).toEqual(address);
      }),
    );
  });
});

describe('the domains of a page', () => {
  test.each([
    ['ada@example.com', 'example.com', true],
    ['ada@EXAMPLE.COM', 'example.com', true],
    ['ada@example.com', 'Example.Com', true],
    ['ada@example.com', 'example.com.', true],
    ['ada@bücher.example', 'bücher.example', true],
    ['ada@xn--bcher-kva.example', 'bücher.example', true],
    ['ada@BÜCHER.example', 'xn--bcher-kva.example', true],
    ['ada@sub.example.com', 'example.com', false],
    ['ada@example.com', 'sub.example.com', false],
    ['ada@evilexample.com', 'example.com', false],
    ['ada@example.com.evil.example', 'example.com', false],
    ['ada@example.co', 'example.com', false],
    ['ada@bucher.example', 'bücher.example', false],
  ])('%s for a page of %s: %s', (text, domain, isAllowed) => {
    expect(allowed(text, domain)).toBe(isAllowed);
  });

  test('let in an address only by its exact domain', () => {
    const part = fc.constantFrom(
      'a',
      'Z',
      '0',
      '.',
      '-',
      '+',
      '@',
      '@example.com',
      'example.com',
      ' ',
      'ü',
      '\n',
    );
    const parts = fc.array(part, { minLength: 1, maxLength: 6 }).map((some) => some.join(''));
    const surroundings = fc.oneof(parts, fc.string({ unit: 'grapheme', minLength: 1, maxLength: 4 }));
    const domains = fc.oneof(
      fc.domain(),
      fc.constantFrom('example.com', 'EXAMPLE.com', 'example.com.'),
      parts,
    );
    fc.assert(
      fc.property(surroundings, domains, (text, domain) => {
        const address = parseMailAddress(`${text}@${domain}`);
        fc.pre(address !== null);
        expect(address?.address.split('@')).toHaveLength(2);
        if (address !== null && isOfDomains(address, ['example.com']))
          expect(address.domain).toBe('example.com');
      }),
    );
  });

  test('a page without domains lets no address in', () => {
    expect(allowed('ada@example.com')).toBe(false);
  });
});

test.each([
  ['ada+1@example.com', 'ada@example.com'],
  ['ADA@example.com', 'ada@example.com'],
  ['a.d.a+x.y@example.com', 'ada@example.com'],
  ['+tag@example.com', '+tag@example.com'],
])('mails to %s count as mails to %s', (text, key) => {
  const address = parseMailAddress(text);
  expect(address === null ? null : mailboxKey(address)).toBe(key);
});
