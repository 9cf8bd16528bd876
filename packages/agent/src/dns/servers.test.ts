import { expect, test } from 'vitest';
import { parseServer, serverName } from './servers.ts';

test.each([
  ['10.0.0.53', '10.0.0.53', 53],
  ['10.0.0.53:5353', '10.0.0.53', 5353],
  ['fd00::53', 'fd00::53', 53],
  ['[fd00::53]', 'fd00::53', 53],
  ['[fd00::53]:5353', 'fd00::53', 5353],
  ['fe80::1%eth0', 'fe80::1%eth0', 53],
])('%s', (text, host, port) => {
  expect(parseServer(text)).toEqual({ host, port });
  expect(parseServer(serverName({ host, port }))).toEqual({ host, port });
});

test.each([
  '',
  'dns.example.com',
  '10.0.0.53:',
  '10.0.0.53:0',
  '10.0.0.53:65536',
  '[10.0.0.53]:53',
  '[fd00::53]:x',
  '10.0.0',
])('"%s" is refused', (text) => {
  expect(() => parseServer(text)).toThrow(`"${text}" is not a DNS server`);
});
