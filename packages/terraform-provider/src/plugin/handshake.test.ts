import { X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { createServerCertificate } from './certificate.ts';
import { clientCertificateOf, handshakeLine, isStartedByTerraform, reattachValue } from './handshake.ts';

const LISTENING = { network: 'unix', address: '/tmp/a/socket' } as const;

test('the line names the address and the certificate, without the padding of Base64', () => {
  expect(handshakeLine(LISTENING, Buffer.from('a'))).toBe('1|6|unix|/tmp/a/socket|grpc|YQ\n');
  expect(handshakeLine(LISTENING, null)).toBe('1|6|unix|/tmp/a/socket|grpc|\n');
});

test('only the cookie of Terraform counts', () => {
  expect(isStartedByTerraform({})).toBe(false);
  expect(isStartedByTerraform({ TF_PLUGIN_MAGIC_COOKIE: 'x' })).toBe(false);
  expect(clientCertificateOf({ PLUGIN_CLIENT_CERT: '' })).toBeNull();
});

test("reattaching names the protocol, because Terraform's default is 5", () => {
  expect(JSON.parse(reattachValue('example.com/a/b', LISTENING, 42))).toEqual({
    'example.com/a/b': {
      Protocol: 'grpc',
      ProtocolVersion: 6,
      Pid: 42,
      Test: true,
      Addr: { Network: 'unix', String: '/tmp/a/socket' },
    },
  });
});

test('the certificate is for localhost, and valid on a clock that is a little behind', () => {
  const now = Date.parse('2026-03-04T05:06:07Z');
  const { certificate, der } = createServerCertificate(now);
  const parsed = new X509Certificate(certificate);
  expect(parsed.raw).toEqual(der);
  expect(parsed.verify(parsed.publicKey)).toBe(true);
  expect(parsed.subjectAltName).toBe('DNS:localhost');
  expect(parsed.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
  expect(parsed.publicKey.asymmetricKeyDetails).toMatchObject({ namedCurve: 'prime256v1' });
  expect(parsed.validFromDate.getTime()).toBe(now - 30_000);
  expect(new X509Certificate(createServerCertificate(now).certificate).serialNumber).not.toBe(
    parsed.serialNumber,
  );
});
