import { expect, test } from 'vitest';
import { duration, hostList } from './setting-schemas.ts';

test('hosts are kept as URLs have them', () => {
  expect(hostList.parse(' Chat.Example.com, münchen.example ,[::1],10.0.0.1,* ')).toEqual([
    'chat.example.com',
    'xn--mnchen-3ya.example',
    '[::1]',
    '10.0.0.1',
    '*',
  ]);
  expect(hostList.parse('')).toEqual([]);
});

test.each(['https://chat.example.com', 'chat.example.com:8443', 'a/b', 'u@h', 'a b', '::1'])(
  '%s is no host',
  (text) => {
    expect(hostList.safeParse(text).success).toBe(false);
  },
);

test.each([
  ['60s', 60_000],
  ['1m', 60_000],
  ['90m', 5_400_000],
  ['4h', 14_400_000],
  ['30d', 2_592_000_000],
])('%s is a length of time from 1m to 30d', (text, ms) => {
  expect(duration('1m', '30d').parse(text)).toBe(ms);
});

test.each(['', '30', '59s', '31d', '1.5h', '-5m', '5 m', '5M', '999999999d'])(
  '%s is refused as a length of time from 1m to 30d',
  (text) => {
    const { error } = duration('1m', '30d').safeParse(text);
    expect(error?.issues[0]?.message).toBe(
      'must be a whole number and a unit (s, m, h or d), from 1m to 30d',
    );
  },
);
