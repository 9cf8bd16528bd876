import { expect, test } from 'vitest';
import { deniedHost } from './denied-host.ts';
import { createEgressGuard } from './egress.ts';

const guard = createEgressGuard({ base: 'channel', deny: [], allow: ['10.1.0.0/16'] });

test.each([
  ['http://10.0.0.1:4318', '10.0.0.1', 'private'],
  ['https://127.0.0.1/v1/metrics', '127.0.0.1', 'loopback'],
  ['http://0x7f.1/', '127.0.0.1', 'loopback'],
  ['http://2130706433/', '127.0.0.1', 'loopback'],
  ['http://[::1]:4318', '::1', 'loopback'],
  ['http://[::ffff:169.254.169.254]/', '::ffff:a9fe:a9fe', 'metadata'],
  ['http://169.254.169.254/latest', '169.254.169.254', 'metadata'],
  ['http://localhost:4318', 'localhost', 'loopback'],
  ['http://otel.LOCALHOST./', 'otel.localhost', 'loopback'],
])('%s is at a place that is denied', (url, host, rule) => {
  const said = deniedHost(guard, url);
  expect(said).toContain(`is at ${host}, which svc does not connect to (`);
  expect(said).toContain(rule);
  expect(said).toMatch(/SVC_CHANNEL_EGRESS_ALLOW$/);
});

test.each([
  'https://collector.example.com',
  'http://10.1.2.3:4318',
  'https://1.1.1.1/',
  'http://[2606:4700::1]/',
  'http://notlocalhost/',
])('of %s the text does not tell that it is denied', (url) => {
  expect(deniedHost(guard, url)).toBeNull();
});
