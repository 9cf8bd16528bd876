import fc from 'fast-check';
import { expect, test } from 'vitest';
import { candidateNames, parseResolvConf } from './resolv-conf.ts';

const DEFAULTS = {
  servers: [{ host: '127.0.0.1', port: 53 }],
  search: [],
  ndots: 1,
  timeoutMs: 5_000,
  attempts: 2,
  rotate: false,
  noAaaa: false,
};

test('an empty file means the defaults of the system', () => {
  expect(parseResolvConf('', 'host')).toEqual(DEFAULTS);
  expect(parseResolvConf('', 'host.example.com')).toEqual({ ...DEFAULTS, search: ['example.com'] });
});

test('a whole file', () => {
  const text = `# made by hand
; and another comment
nameserver 10.0.0.53
nameserver\tfd00::53 # trailing
nameserver not-an-address
nameserver [10.0.0.54]:5353
nameserver 10.0.0.55
domain ignored.example
search Svc.Cluster.Local cluster.local.
options ndots:5 timeout:1
options attempts:3 rotate no-aaaa edns0
`;
  expect(parseResolvConf(text, 'host.example.com')).toEqual({
    servers: [
      { host: '10.0.0.53', port: 53 },
      { host: 'fd00::53', port: 53 },
      { host: '10.0.0.54', port: 5353 },
    ],
    search: ['svc.cluster.local', 'cluster.local'],
    ndots: 5,
    timeoutMs: 1_000,
    attempts: 3,
    rotate: true,
    noAaaa: true,
  });
});

test('comments of lines that end with CR LF are ignored', () => {
  const text = 'nameserver 10.0.0.53 # local\r\nsearch a ; b\r\n# nameserver 10.0.0.54\r\n';
  expect(parseResolvConf(text, '')).toEqual({
    ...DEFAULTS,
    servers: [{ host: '10.0.0.53', port: 53 }],
    search: ['a'],
  });
});

test('the last of `domain` and `search` counts', () => {
  expect(parseResolvConf('search a b\ndomain c.example', '').search).toEqual(['c.example']);
  expect(parseResolvConf('domain c.example\nsearch a b', '').search).toEqual(['a', 'b']);
  expect(parseResolvConf('search .', 'host.example.com').search).toEqual([]);
});

test.each([
  ['options ndots:99', { ndots: 15 }],
  ['options timeout:0', { timeoutMs: 1_000 }],
  ['options timeout:99', { timeoutMs: 30_000 }],
  ['options attempts:99', { attempts: 5 }],
  ['options attempts:x ndots:', {}],
])('%s is bounded', (text, expected) => {
  expect(parseResolvConf(text, '')).toEqual({ ...DEFAULTS, ...expected });
});

test('any text gives a valid configuration', () => {
  const line = fc.oneof(
    fc.string({ maxLength: 40 }),
    fc.string({ maxLength: 20 }).map((rest) => `nameserver ${rest}`),
    fc.string({ maxLength: 20 }).map((rest) => `options ${rest}`),
  );
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      const { servers, attempts } = parseResolvConf(lines.join('\n'), 'h');
      expect(servers.length).toBeGreaterThan(0);
      expect(servers.length).toBeLessThanOrEqual(3);
      expect(attempts).toBeGreaterThan(0);
    }),
  );
});

test.each([
  ['db', 1, ['db.a.example', 'db.b.example', 'db']],
  ['db.prod', 1, ['db.prod', 'db.prod.a.example', 'db.prod.b.example']],
  ['db.prod', 2, ['db.prod.a.example', 'db.prod.b.example', 'db.prod']],
  ['db.', 5, ['db']],
  ['db', 0, ['db', 'db.a.example', 'db.b.example']],
])('%s with ndots:%d is asked for as %s', (host, ndots, names) => {
  expect(candidateNames(host, { search: ['a.example', 'b.example'], ndots })).toEqual(names);
});
