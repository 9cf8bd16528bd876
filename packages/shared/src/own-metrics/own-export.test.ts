import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { pino } from 'pino';
import { afterAll, expect, test } from 'vitest';
import { certificateFiles } from '../../../../test/support/tls/certificate-files.ts';
import { TRUSTED } from '../../../../test/support/tls/certificates.ts';
import { systemClock } from '../clock.ts';
import { readEnvironment } from '../settings/environment.ts';
import { OwnExport } from './own-export.ts';
import { AGENT_OTLP_SETTINGS, ownExportOf } from './own-metrics-settings.ts';

const files = certificateFiles();
afterAll(() => files.remove());

test('an endpoint of a private authority is trusted, and shown the certificate that it asks for', async () => {
  const shown: (string | undefined)[] = [];
  // The test's certificate is for servers, so TLS does not check it here. The test compares the certificate
  // itself.
  const server = createServer(
    { ...TRUSTED, requestCert: true, rejectUnauthorized: false },
    (message, response) => {
      shown.push((message.socket as TLSSocket).getPeerX509Certificate()?.toString());
      message.resume().once('end', () => response.end());
    },
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const logged: string[] = [];
  const environment = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `https://localhost:${(server.address() as AddressInfo).port}`,
    OTEL_EXPORTER_OTLP_CERTIFICATE: files.authority,
    OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: files.certificate,
    OTEL_EXPORTER_OTLP_CLIENT_KEY: files.key,
  };
  const ownExport = new OwnExport({
    settings: ownExportOf(readEnvironment(AGENT_OTLP_SETTINGS, environment).values),
    resource: {},
    measurements: () => [],
    ca: [],
    proxyFor: undefined,
    clock: systemClock,
    log: pino({ level: 'warn' }, { write: (line: string) => logged.push(line) }),
  });
  ownExport.start();
  await ownExport.stop(30_000);
  expect(logged).toEqual([]);
  expect(shown.map((text) => text?.trim())).toEqual([TRUSTED.cert.trim()]);
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});
