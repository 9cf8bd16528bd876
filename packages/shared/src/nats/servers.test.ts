import { describe, expect, test } from 'vitest';
import { readEnvironment, SettingsError } from '../settings/environment.ts';
import { checkNatsSettings, NATS_SETTINGS } from './nats-settings.ts';
import { parseNatsServers, shownServers } from './servers.ts';

describe('a list of NATS servers', () => {
  test.each([
    ['127.0.0.1:4222', ['127.0.0.1:4222'], false, true],
    ['nats://localhost', ['localhost'], false, true],
    ['nats://127.9.9.9:1, [::1]:2', ['127.9.9.9:1', '[::1]:2'], false, true],
    ['nats://10.0.0.1:4222', ['10.0.0.1:4222'], false, false],
    ['127.0.0.1,nats.example.com', ['127.0.0.1', 'nats.example.com'], false, false],
    ['localhost.example.com', ['localhost.example.com'], false, false],
    ['nats://0x7f.1', ['0x7f.1'], false, false],
    ['tls://a:1,TLS://b:2', ['a:1', 'b:2'], true, false],
  ])('%s is understood', (text, addresses, requiresTls, areLoopback) => {
    expect(parseNatsServers(text)).toMatchObject({ addresses, requiresTls, areLoopback, credentials: null });
  });

  test.each([
    ['nats://user:pass%20word@h:1', { user: 'user', password: 'pass word' }],
    ['nats://user:123@h:4222', { user: 'user', password: '123' }],
    ['tls://token@h', { token: 'token' }],
    ['tls://a,tls://user:p@b', { user: 'user', password: 'p' }],
    ['nats://user:100%@h:1', { user: 'user', password: '100%' }],
    ['user:p@ss@h:1', { user: 'user', password: 'p@ss' }],
  ])('%s carries credentials, which are no part of the address', (text, credentials) => {
    const servers = parseNatsServers(text);
    expect(servers.credentials).toEqual(credentials);
    expect(shownServers(servers)).not.toMatch(/@|pass|ss|user|token/);
  });

  test.each([
    ['tls://a,nats://b', 'with and without tls://'],
    ['tls://a,b', 'with and without tls://'],
    ['http://a', 'must be host:port'],
    ['a,,b', 'must be host:port'],
    ['', 'must be host:port'],
    ['nats://', 'must be host:port'],
    ['tls://a,tls://', 'must be host:port'],
    ['tls://secret:word@', 'must be host:port'],
  ])('%j is refused', (text, why) => {
    expect(() => parseNatsServers(text)).toThrow(why);
  });
});

describe('the settings', () => {
  const read = (environment: NodeJS.ProcessEnv) =>
    readEnvironment(NATS_SETTINGS, environment, checkNatsSettings).warnings;

  test.each([
    { SVC_NATS_URL: 'nats://nats.example.com:4222' },
    { SVC_NATS_URL: 'nats://127.0.0.1,nats://10.0.0.1' },
  ])('%j: a plain server beyond this machine is refused', (environment) => {
    expect(() => read(environment)).toThrow(SettingsError);
    expect(() => read(environment)).toThrow('SVC_NATS_ALLOW_PLAIN=1');
  });

  test('a plain server beyond this machine that is wanted is warned about', () => {
    expect(read({ SVC_NATS_URL: 'nats://nats.example.com', SVC_NATS_ALLOW_PLAIN: '1' })).toEqual([
      expect.stringContaining('travel in clear'),
    ]);
  });

  test.each([
    { SVC_NATS_URL: 'nats://127.0.0.1:4222' },
    { SVC_NATS_URL: 'tls://nats.example.com' },
    { SVC_NATS_URL: 'nats://nats.example.com', SVC_NATS_CA: '/ca.pem' },
  ])('%j is taken, without a word', (environment) => {
    expect(read(environment)).toEqual([]);
  });

  test('a bad list shows no password', () => {
    expect(() => read({ SVC_NATS_URL: 'tls://u:hunter2@a,nats://b' })).toThrow(/^(?!.*hunter2)/s);
  });
});
