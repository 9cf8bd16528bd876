import { isIPv6, SocketAddress } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addressFromBytes, asciiDomainName, canonicalAddress } from './address.ts';

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['::1', '::1'],
  ['0:0:0:0:0:0:0:1', '::1'],
  ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
  ['2001:db8::0001', '2001:db8::1'],
  ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
  ['fe80::1%eth0', 'fe80::1'],
  ['::10.0.0.1', '::a00:1'],
  ['64:ff9b::10.0.0.1', '64:ff9b::a00:1'],
  ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
])('%s is written %s', (text, canonical) => {
  expect(canonicalAddress(text)).toBe(canonical);
});

test.each(['', 'example.com', '127.1', '10', '1.2.3.4.5', '01.2.3.4', ':::', '[::1]'])(
  '"%s" is no address',
  (text) => {
    expect(canonicalAddress(text)).toBeNull();
  },
);

test('spellings of one IPv6 address have one form, and it is that address', () => {
  fc.assert(
    fc.property(fc.ipV6().filter(isIPv6), (text) => {
      const canonical = canonicalAddress(text);
      expect(canonicalAddress(text.toUpperCase())).toBe(canonical);
      expect(canonicalAddress(canonical ?? '')).toBe(canonical);
      const same = (address: string) => new SocketAddress({ address, family: 'ipv6' }).address;
      expect(same(canonical ?? '')).toBe(same(text));
    }),
  );
});

test.each([0, 3, 5, 15, 17])('%d bytes are no address', (length) => {
  expect(() => addressFromBytes(new Uint8Array(length))).toThrow(RangeError);
});

test.each([
  ['example.com', 'example.com'],
  ['_dmarc.example.com', '_dmarc.example.com'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['BÜCHER.example', 'xn--bcher-kva.example'],
  ['例え.テスト', 'xn--r8jz45g.xn--zckzah'],
  ['', ''],
])('%s is %s', (name, ascii) => {
  expect(asciiDomainName(name)).toBe(ascii);
});

test('a name that IDNA refuses has none', () => {
  expect(asciiDomainName('bü cher')).toBeNull();
});
