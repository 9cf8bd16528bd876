import { describe, expect, onTestFinished, test } from 'vitest';
import { startApi } from '../../../../test/support/api.ts';
import { isExpectedHost, visitOf } from './request-facts.ts';

test.each([
  ['localhost:8080', true],
  ['LOCALHOST', true],
  ['svc.localhost', true],
  ['127.0.0.1:8080', true],
  ['127.8.0.1', true],
  ['[::1]:8080', true],
  ['svc.example.com', true],
  ['SVC.example.com:443', true],
  ['svc.example.com.', true],
  ['localhost.:8080', true],
  [undefined, true],
  ['other.example.com', false],
  ['svc.example.com..', false],
  ['127.0.0.1.example.com', false],
  ['localhost.example.com', false],
  ['10.0.0.1', false],
  ['a b', false],
  ['', false],
])('a request to %j on loopback is for svc: %j', (host, expected) => {
  expect(isExpectedHost(host, 'https://svc.example.com')).toBe(expected);
});

test.each<[header: string | null, host: string, isOwnHost: boolean]>([
  ['svc.example.com', 'svc.example.com', true],
  ['SVC.Example.com:8443', 'svc.example.com', true],
  ['svc.example.com.', 'svc.example.com', true],
  ['localhost.:8080', 'localhost', true],
  ['192.0.2.7', '192.0.2.7', true],
  ['[2001:db8::1]:8080', '[2001:db8::1]', true],
  ['status.example.org.:8080', 'status.example.org', false],
  ['svc.example.com.evil.example', 'svc.example.com.evil.example', false],
  ['evil.example#svc.example.com', 'evil.example', false],
  ['a b', '', false],
  [null, '', false],
])('the host of %j is %j, svc’s own: %j', (header, host, isOwnHost) => {
  const request = new Request('http://svc.invalid/', { headers: header === null ? {} : { host: header } });
  const circumstances = { publicUrl: 'https://svc.example.com', hasTls: false, peer: null, requestId: 'a' };
  expect(visitOf(request, circumstances)).toMatchObject({ host, isOwnHost });
});

describe('behind proxies', () => {
  const TRUSTED = ['127.0.0.1', '10.0.0.0/8', 'fd00::/8'];

  test.each([
    ['no proxy is trusted', [], '198.51.100.7', '127.0.0.1'],
    ['the sender is not behind the proxy', ['10.0.0.0/8'], '198.51.100.7', '127.0.0.1'],
    ['the proxy names the sender', TRUSTED, '198.51.100.7', '198.51.100.7'],
    ['the proxy names a sender with IPv6', TRUSTED, '2001:db8::7', '2001:db8::7'],
    ['the sender is behind two proxies', TRUSTED, '198.51.100.7, 10.1.2.3', '198.51.100.7'],
    ['a proxy has IPv6', TRUSTED, '198.51.100.7,fd00::1', '198.51.100.7'],
    ['a proxy sees an IPv4 address as IPv6', TRUSTED, '198.51.100.7, ::ffff:10.1.2.3', '198.51.100.7'],
    ['the sender invents another one', TRUSTED, '192.0.2.1, 198.51.100.7', '198.51.100.7'],
    ['the sender invents a proxy', TRUSTED, '10.9.9.9, 198.51.100.7', '198.51.100.7'],
    ['all addresses are of proxies', TRUSTED, '10.1.2.3, 10.4.5.6', '10.1.2.3'],
    ['the sender invents no address', TRUSTED, 'unknown', '127.0.0.1'],
    ['an address has a port', TRUSTED, '198.51.100.7:4711', '127.0.0.1'],
    ['the header is empty', TRUSTED, '', '127.0.0.1'],
  ])('when %s', async (_, trustedProxies, header, expected) => {
    const api = await startApi({ trustedProxies });
    onTestFinished(() => api.dispose());
    const created = await api.call(
      'POST',
      '/v1/tokens',
      { name: 'a', scope: 'read' },
      { 'x-forwarded-for': header },
    );
    expect(created.status).toBe(201);
    const { id } = created.body as { id: string };
    const { body } = await api.call('GET', `/v1/audit?object=tokens/${id}`);
    expect(body).toMatchObject({ data: [{ action: 'create', peer: expected }] });
  });

  test('a sender without a valid token is told to wait, and others behind the same proxy are not', async () => {
    const api = await startApi({ trustedProxies: TRUSTED, failureRate: { perSecond: 1, atOnce: 1 } });
    onTestFinished(() => api.dispose());
    const failing = (sender: string) =>
      api.call('GET', '/v1/monitors', undefined, {
        authorization: 'Bearer wrong',
        'x-forwarded-for': sender,
      });
    expect((await failing('198.51.100.7')).status).toBe(401);
    expect((await failing('198.51.100.7')).status).toBe(429);
    expect((await failing('198.51.100.8')).status).toBe(401);
  });
});
