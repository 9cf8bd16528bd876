import { pino } from 'pino';
import { expect, test } from 'vitest';
import { Secret } from '../secret.ts';
import { ExportLog } from './export-log.ts';
import type { OwnExportSettings } from './own-metrics-settings.ts';

const SETTINGS: OwnExportSettings = {
  url: new Secret(
    'https://user:password-of-url@otlp.example.com:4318/ingest/key-in-the-path/v1/metrics?t=key-in-query',
  ),
  headers: new Secret({ authorization: 'Bearer key-in-header' }),
  encoding: 'protobuf',
  isCompressed: true,
  intervalMs: 60_000,
  timeoutMs: 10_000,
  tls: { ca: [], identity: null },
  resource: [],
};

test('the log names the host of the endpoint, and nothing that may be a key', () => {
  const lines: Record<string, unknown>[] = [];
  const log = new ExportLog(
    SETTINGS,
    pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) }),
  );
  log.ended(null);
  log.ended(new Error(`POST ${SETTINGS.url.reveal()} with Bearer key-in-header failed`));
  log.ended(null);
  expect(lines.map(({ endpoint }) => endpoint)).toEqual(Array(3).fill('https://otlp.example.com:4318'));
  expect(lines[1]?.error).toBe(
    'POST https://********:********@otlp.example.com:4318/ingest/********/v1/metrics?******** with ******** failed',
  );
});

test.each([
  ['the token of a scheme', 'invalid token key-in-header'],
  ['the query as it is written into JSON', '{"said":"t=key-in-query"}'],
  ['a segment of the path', 'no such key: key-in-the-path'],
])('%s is in no line', (_, said) => {
  const lines: string[] = [];
  new ExportLog(SETTINGS, pino({ level: 'info' }, { write: (line: string) => lines.push(line) })).ended(
    new Error(said),
  );
  expect(lines.join()).toContain('********');
  expect(lines.join()).not.toMatch(/key-in/);
});
