import { expect, test } from 'vitest';
import { asciiDomainName } from './domain-name.ts';

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
