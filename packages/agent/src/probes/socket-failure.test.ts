import { once } from 'node:events';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createEgressGuard } from '@svc/shared/egress.ts';
import { expect, test } from 'vitest';
import { fixedResolver, httpCheck } from '../../../../test/support/http-check.ts';
import { TEST_AUTHORITY, TRUSTED } from '../../../../test/support/tls/certificates.ts';
import { createHttpProbe } from './http/probe.ts';

const probe = createHttpProbe({
  resolver: fixedResolver({ 'secure.test': ['127.0.0.1'] }),
  egress: createEgressGuard({ base: 'agent', deny: [], allow: [] }),
  tlsOptions: { ca: [TEST_AUTHORITY] },
});

/** A server that calls `act` when the first bytes of the handshake have arrived. */
function afterHello(act: (socket: Socket) => void): Server {
  return createServer((socket) => {
    // The probe ends the connection in its own way, which does not matter here.
    socket.on('error', () => {});
    socket.once('data', () => act(socket));
  });
}

const alert = (description: number): Server =>
  afterHello((socket) => socket.end(Buffer.from([0x15, 3, 3, 0, 2, 2, description])));

/**
 * A ServerHello of TLS 1.2 with ECDHE-RSA-AES128-GCM-SHA256 and no extension,
 * so without `renegotiation_info`.
 */
function serverHello(): Buffer {
  const body = Buffer.concat([Buffer.from([3, 3]), Buffer.alloc(32, 7), Buffer.from([0, 0xc0, 0x2f, 0])]);
  const message = Buffer.concat([Buffer.from([2, 0, 0, body.length]), body]);
  return Buffer.concat([Buffer.from([0x16, 3, 3, 0, message.length]), message]);
}

const withClientCertificate = (maxVersion: 'TLSv1.2' | 'TLSv1.3'): Server =>
  createHttpsServer(
    { ...TRUSTED, requestCert: true, rejectUnauthorized: true, maxVersion },
    (_request, response) => response.end(),
  ).on('tlsClientError', () => {});

test.each<[string, () => Server, RegExp]>([
  [
    'no secure renegotiation',
    () => afterHello((socket) => socket.write(serverHello())),
    /the server does not know secure renegotiation \(RFC 5746\) \(unsafe legacy renegotiation disabled\)$/,
  ],
  [
    'plain HTTP',
    () => afterHello((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    /the port does not seem to speak TLS \(wrong version number\)$/,
  ],
  ['no version in common', () => alert(70), /speaks neither TLS 1\.2 nor 1\.3/],
  ['no host of this name', () => alert(112), /knows no host of this name \(SNI\)/],
  ['a defect', () => alert(80), /the server reported an internal error/],
  ['another alert', () => alert(49), /failed: .*access denied$/],
  [
    'a client certificate wanted, TLS 1.2',
    () => withClientCertificate('TLSv1.2'),
    /asks for a client certificate/,
  ],
  [
    'a client certificate wanted, TLS 1.3',
    () => withClientCertificate('TLSv1.3'),
    /asks for a client certificate/,
  ],
  [
    'a close',
    () => afterHello((socket) => socket.end()),
    /^the target closed the connection during the TLS handshake/,
  ],
  ['a reset', () => afterHello((socket) => socket.resetAndDestroy()), /^the target reset the connection/],
])('%s is said', async (_name, serverOf, says) => {
  const server = serverOf();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const outcome = await probe.run(httpCheck({ url: `https://secure.test:${port}/` }), {
    timeoutMs: 15_000,
    signal: new AbortController().signal,
  });
  expect(outcome.outcome).toBe('failed');
  expect(outcome.errorMessage).toMatch(says);
  server.close();
  await once(server, 'close');
});
