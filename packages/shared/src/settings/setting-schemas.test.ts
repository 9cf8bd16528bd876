import { expect, test } from 'vitest';
import { hostList } from './setting-schemas.ts';

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
