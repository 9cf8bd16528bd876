import { describe, expect, onTestFinished, test } from 'vitest';
import { startApi } from '../../../../test/support/api.ts';

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
