import { Secret } from '@svc/shared/secret.ts';
import { readEnvironment, SettingsError } from '@svc/shared/settings/environment.ts';
import { expect, test } from 'vitest';
import { AGENT_SETTINGS } from './config.ts';

const least = { SVC_REGION: 'hosta-fra', SVC_NATS_URL: 'nats://127.0.0.1:4222' };

function problems(environment: NodeJS.ProcessEnv): readonly string[] {
  try {
    readEnvironment(AGENT_SETTINGS, environment);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}

test('only the region and the NATS server are required', () => {
  expect(readEnvironment(AGENT_SETTINGS, least)).toEqual({
    values: {
      region: 'hosta-fra',
      natsUrl: expect.any(Secret),
      natsAllowsPlain: false,
      concurrency: 4_000,
      noProxy: expect.any(Function),
      egressDeny: [],
      egressAllow: [],
      logLevel: 'info',
      drainMs: 10_000,
      isSupervised: false,
      otlpDisabled: false,
      otlpExporters: ['otlp'],
      otlpInterval: 60_000,
      otlpResource: [],
    },
    warnings: [],
  });
});

test('lists', () => {
  const { values } = readEnvironment(AGENT_SETTINGS, {
    ...least,
    SVC_DNS_SERVERS: '10.0.0.53, [fd00::53]:5353',
    SVC_EGRESS_DENY: '10.0.0.0/8, 192.168.1.1',
    SVC_EGRESS_ALLOW: '10.1.0.0/16',
  });
  expect(values.dnsServers).toEqual(['10.0.0.53', '[fd00::53]:5353']);
  expect(values.egressDeny).toEqual(['10.0.0.0/8', '192.168.1.1']);
  expect(values.egressAllow).toEqual(['10.1.0.0/16']);
});

test('groups of the key exchange, in the notation of OpenSSL', () => {
  const groups = '*X25519:*X25519MLKEM768:P-256';
  const { values } = readEnvironment(AGENT_SETTINGS, { ...least, SVC_PROBE_TLS_GROUPS: groups });
  expect(values.probeTlsGroups).toBe(groups);
  expect(problems({ ...least, SVC_PROBE_TLS_GROUPS: 'X25519:nonsense' })).toEqual([
    expect.stringMatching(/^SVC_PROBE_TLS_GROUPS: must be names of groups that OpenSSL knows/),
  ]);
});

test('a proxy and its exceptions', () => {
  const { values } = readEnvironment(AGENT_SETTINGS, {
    ...least,
    SVC_PROBE_PROXY: 'http://me:s3cret@proxy.example:3128',
    NO_PROXY: 'intranet.example',
  });
  expect(values.probeProxy?.reveal()).toMatchObject({ host: 'proxy.example', port: 3_128 });
  expect(values.noProxy('www.intranet.example', 443)).toBe(true);
  expect(values.noProxy('www.example', 443)).toBe(false);
  expect(problems({ ...least, SVC_PROBE_PROXY: 'socks5://me:s3cret@proxy.example' })).toEqual([
    'SVC_PROBE_PROXY: must be the URL of an HTTP proxy: http://[user:password@]host:port',
  ]);
});

test.each([
  [{ no_proxy: 'a.example' }, 'a.example'],
  [{ NO_PROXY: '', no_proxy: 'a.example' }, 'a.example'],
  [{ NO_PROXY: 'b.example', no_proxy: 'a.example' }, 'b.example'],
])('%j: the proxy is not asked for %s', (environment, host) => {
  const { values } = readEnvironment(AGENT_SETTINGS, { ...least, ...environment });
  expect(['a.example', 'b.example'].filter((name) => values.noProxy(name, 443))).toEqual([host]);
});

test('all problems are reported at once', () => {
  const found = problems({
    SVC_REGION: 'hosta-mars',
    SVC_AGENT_ID: 'a b',
    SVC_CONCURRENCY: '0',
    SVC_AGENT_LISTEN: '9100',
    SVC_DNS_SERVERS: 'dns.example.com',
    SVC_EGRESS_DENY: '10.0.0.0/33',
    SVC_LOG_LEVEL: 'loud',
  });
  expect(found.map((problem) => problem.split(/[: ]/)[0])).toEqual([
    'SVC_REGION',
    'SVC_AGENT_ID',
    'SVC_NATS_URL',
    'SVC_CONCURRENCY',
    'SVC_AGENT_LISTEN',
    'SVC_DNS_SERVERS',
    'SVC_EGRESS_DENY',
    'SVC_LOG_LEVEL',
  ]);
});

test('a list of servers that names none is wrong', () => {
  expect(problems({ ...least, SVC_DNS_SERVERS: ' , ' })).toEqual([
    'SVC_DNS_SERVERS: names no server (got " , ")',
  ]);
});
