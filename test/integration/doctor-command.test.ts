/** `svc doctor` with real servers: a healthy machine, and each fault. */

import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@svc/shared/log.ts';
import { resultsStream } from '@svc/shared/messages/subjects.ts';
import { connectBus } from '@svc/shared/nats/nats-bus.ts';
import { NatsResultStreams } from '@svc/shared/nats/result-streams.ts';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { natsAccounts } from '../support/nats-accounts.ts';
import { startNatsCluster } from '../support/nats-cluster.ts';
import { type NatsServer, startNatsServer } from '../support/nats-server.ts';
import { whyNoOwnNetwork } from '../support/network/own-network.ts';
import { svcBesideSilentNameServer } from '../support/network/silent-name-server.ts';
import { openedIn, serviceIn } from '../support/opened.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { runIn } from '../support/postgres-store.ts';
import { svc } from '../support/svc.ts';
import { certificateFiles } from '../support/tls/certificate-files.ts';
import { EXPIRED, TEST_AUTHORITY, TRUSTED } from '../support/tls/certificates.ts';

const accounts = natsAccounts(['hosta-ams', 'hosta-fra']);
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-doctor-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
});

type Found = { check: string; level: string; what: string; todo: string };

async function doctor(role: string, environment: Record<string, string>, ...args: string[]) {
  const { code, out, err } = await svc(['doctor', role, '--json', ...args], {
    SVC_DATA_DIR: folder,
    ...environment,
  });
  expect(out, err).not.toBe('');
  const { findings } = JSON.parse(out) as { findings: Found[] };
  return {
    code,
    of: (check: string) => findings.filter((finding) => finding.check === check),
    failed: findings.filter(({ level }) => level === 'failed').map(({ what }) => what),
  };
}

async function server(configuration: string): Promise<NatsServer> {
  const started = await startNatsServer(configuration);
  onTestFinished(() => started.dispose());
  return started;
}

const AGENT = { SVC_REGION: 'hosta-ams', SVC_CONCURRENCY: '100' };

test('finds an agent of a running service healthy, and disturbs nothing', async (context) => {
  const service = await serviceIn(openedIn(context), {
    regions: ['hosta-ams'],
    accounts,
    declared: {},
  });
  await service.until(() => service.agent('hosta-ams').metrics.batchesSent >= 0);
  const before = service.warnings.length;
  const agent = { ...AGENT, SVC_NATS_URL: service.nats.url, SVC_NATS_NKEY: accounts.seedOf('hosta-ams') };
  const { code, of, failed } = await doctor('agent', agent);
  expect({ code, failed }).toEqual({ code: 0, failed: [] });
  expect(of('nats').map(({ level }) => level)).not.toContain('warning');
  expect(of('nats').map(({ what }) => what)).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^connected to nats:\/\/127\.0\.0\.1:\d+, version 2\./),
      'the key may report results of hosta-ams, and their stream answers',
      'the key may send heartbeats, and NATS stores those of hosta-ams',
      'the key is refused what is not of hosta-ams',
    ]),
  );
  expect(service.warnings.slice(before)).toEqual([]);
  expect(await service.query('SELECT * FROM results')).toEqual([]);
  expect(resultsStream('hosta-ams')).toBe('SVC_RESULTS_hosta-ams');

  const asCoordinator = { SVC_NATS_URL: service.nats.url, SVC_NATS_NKEY: accounts.seedOf('coordinator') };
  expect((await doctor('coordinator', asCoordinator)).failed).toEqual([]);
});

test('warns about a region that no coordinator has', async () => {
  const { url } = await server('');
  const { code, of } = await doctor('agent', { ...AGENT, SVC_REGION: 'office-berln', SVC_NATS_URL: url });
  expect(code).toBe(0);
  expect(of('nats')).toContainEqual({
    check: 'nats',
    level: 'warning',
    what: 'NATS stores no heartbeats of office-berln',
    todo: 'start the coordinator; if it runs, correct SVC_REGION, or name the region in SVC_EXTRA_REGIONS of the coordinator',
  });
});

test('distinguishes foreign keys, too many rights, and a missing server', async () => {
  const { url } = await server(accounts.configuration);
  const at = (seed: string) => doctor('agent', { ...AGENT, SVC_NATS_URL: url, SVC_NATS_NKEY: seed });
  expect((await at(accounts.seedOf('hosta-fra'))).failed).toEqual(
    expect.arrayContaining([
      'the key may not report results of hosta-ams',
      'the key may not take jobs of hosta-ams',
      'the key may not send heartbeats of hosta-ams',
    ]),
  );
  expect((await at(natsAccounts([]).seedOf('coordinator'))).failed).toEqual([
    expect.stringContaining('does not know this key'),
  ]);
  expect((await at(accounts.seedOf('coordinator'))).of('nats')).toContainEqual(
    expect.objectContaining({ level: 'warning', todo: expect.stringContaining('svc region add') }),
  );
  const { failed } = await doctor('coordinator', {
    SVC_NATS_URL: url,
    SVC_NATS_NKEY: accounts.seedOf('hosta-ams'),
  });
  expect(failed).toEqual(expect.arrayContaining([expect.stringContaining('the key may not hear agents')]));
  const gone = await startNatsServer();
  await gone.dispose();
  const { code, failed: unreached } = await doctor('agent', { ...AGENT, SVC_NATS_URL: gone.url });
  expect({ code, unreached }).toEqual({ code: 1, unreached: [expect.stringContaining('cannot connect to')] });
});

test('reports each server of a cluster, and whether another one may be stopped', async () => {
  const cluster = await startNatsCluster();
  onTestFinished(() => cluster.dispose());
  const bus = await connectBus({ url: cluster.url, name: 'test', log: createLogger('test', 'silent') });
  onTestFinished(() => bus.close());
  const streams = new NatsResultStreams(bus);
  await expect
    .poll(() =>
      streams.ensure('hosta-fra', { maxBytes: 1024 ** 2 }).then(
        () => 'ensured',
        () => 'waits',
      ),
    )
    .toBe('ensured');
  const stream = resultsStream('hosta-fra');
  await expect.poll(() => cluster.currentServersOf(stream)).toBe(3);
  const settings = { SVC_NATS_URL: cluster.url };
  const whole = await doctor('coordinator', settings);
  expect(whole.failed).toEqual([]);
  const found = whole.of('nats').map(({ what }) => what);
  for (const index of [0, 1, 2])
    expect(found).toContainEqual(expect.stringContaining(`connected to ${cluster.urlOf(index)}, version`));
  expect(found).toContain('each of 1 streams has all its copies');

  await cluster.kill(2);
  await expect.poll(() => cluster.currentServersOf(stream)).toBe(2);
  const { code, of } = await doctor('coordinator', settings);
  expect(code).toBe(0);
  expect(of('nats').filter(({ level }) => level === 'warning')).toEqual([
    expect.objectContaining({ what: expect.stringContaining(`cannot connect to ${cluster.urlOf(2)}: `) }),
    expect.objectContaining({ what: `1 of 1 streams lack a current copy: ${stream}` }),
  ]);
});

test('tests certificates of NATS: chain, name and expiry', async () => {
  const tls = async ({ cert, key }: { cert: string; key: string }) => {
    await writeFile(join(folder, 'cert.pem'), cert);
    await writeFile(join(folder, 'key.pem'), key);
    const { port } = await server(`tls { cert_file: "${folder}/cert.pem", key_file: "${folder}/key.pem" }`);
    return `tls://localhost:${port}`;
  };
  await writeFile(join(folder, 'ca.pem'), TEST_AUTHORITY);
  const good = await tls(TRUSTED);
  const trusting = { ...AGENT, SVC_NATS_CA: join(folder, 'ca.pem') };
  expect((await doctor('agent', { ...trusting, SVC_NATS_URL: good })).of('tls')).toEqual([
    expect.objectContaining({
      level: 'ok',
      what: expect.stringMatching(/localhost:\d+ is valid until 2120/),
    }),
  ]);
  expect((await doctor('agent', { ...AGENT, SVC_NATS_URL: good })).failed).toEqual([
    expect.stringMatching(/cannot connect to tls:.*(?:issuer|verify)/),
  ]);
  const { failed } = await doctor('agent', { ...trusting, SVC_NATS_URL: await tls(EXPIRED) });
  expect(failed).toEqual(expect.arrayContaining([expect.stringContaining('has expired on 2020-02-01')]));
});

test('reports a NATS server that accepts the connection and then hangs, and all other findings', async () => {
  const info = { version: '2.10.0', proto: 1, headers: true, max_payload: 1_048_576, jetstream: true };
  const sockets = new Set<Socket>();
  const hanging = createTcpServer((socket) => {
    sockets.add(socket);
    socket.write(`INFO ${JSON.stringify(info)}\r\n`);
    // It accepts the key, and answers nothing after that.
    socket.once('data', () => socket.write('PONG\r\n'));
    socket.on('error', () => {});
  });
  hanging.listen(0, '127.0.0.1');
  await once(hanging, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    hanging.close();
    await once(hanging, 'close');
  });
  const url = `nats://127.0.0.1:${(hanging.address() as AddressInfo).port}`;
  for (const [role, settings] of [
    ['agent', AGENT],
    ['coordinator', {}],
  ] as const) {
    const { code, of, failed } = await doctor(role, { ...settings, SVC_NATS_URL: url });
    expect({ code, failed }).toEqual({
      code: 1,
      failed: [expect.stringMatching(/takes connections and then hangs: no answer within 5 s/)],
    });
    expect(of('settings')).toHaveLength(1);
  }
});

test('tells a PostgreSQL that works from one that is away, is a standby, or has the tables of a newer version', async () => {
  const nats = await server('');
  const postgres = await startPostgres({ isDurable: true });
  onTestFinished(() => postgres.dispose());
  await postgres.run('CREATE DATABASE svc');
  const standby = await startPostgres({ isDurable: true, standbyOf: postgres.port });
  onTestFinished(() => standby.dispose());
  const about = async ({ url }: PostgresServer) => {
    const settings = { SVC_NATS_URL: nats.url, SVC_DATABASE_URL: url('svc').reveal() };
    const { of } = await doctor('coordinator', settings);
    return of('database').map(({ level, what }) => `${level}: ${what}`);
  };
  expect(await about(postgres)).toEqual([
    expect.stringMatching(/^ok: connected to the database 127\.0\.0\.1:\d+\/svc, PostgreSQL \d+/),
  ]);
  expect(await about(standby)).toEqual([expect.stringMatching(/^failed: connected .*, which is read-only$/)]);
  await runIn(
    postgres.url('svc'),
    "CREATE TABLE kysely_migration (name text); INSERT INTO kysely_migration VALUES ('9999-later')",
  );
  expect(await about(postgres)).toEqual([
    expect.stringMatching(/^failed: .* newer version of svc \(9999-later\)/),
  ]);
  await postgres.stop();
  expect(await about(postgres)).toEqual([expect.stringMatching(/^failed: cannot use .*ECONNREFUSED/)]);
});

test('checks settings, modes of files, the disk, name resolution and the clock', async () => {
  const bad = await doctor('agent', { SVC_REGION: 'hosta-nowhere', SVC_NATS_URL: 'nats://127.0.0.1:1' });
  expect(bad.of('settings')).toEqual([
    expect.objectContaining({ level: 'failed', what: expect.stringContaining('SVC_REGION') }),
  ]);
  const noKey = await doctor('agent', {
    ...AGENT,
    SVC_NATS_URL: 'nats://127.0.0.1:1',
    SVC_NATS_NKEY: 'SUAPLACEHOLDER',
  });
  expect(noKey.failed).toEqual(['SVC_NATS_NKEY: this is not the seed of a NATS user, which begins with SU']);

  const clock = createServer((_request, response) => {
    response.setHeader('date', new Date(Date.now() + 60_000).toUTCString());
    response.end();
  });
  clock.listen(0, '127.0.0.1');
  await once(clock, 'listening');
  onTestFinished(async () => {
    clock.closeAllConnections();
    clock.close();
    await once(clock, 'close');
  });
  const from = `http://127.0.0.1:${(clock.address() as AddressInfo).port}`;
  const { url } = await server('');
  const env = join(folder, 'coordinator.env');
  await writeFile(env, `SVC_NATS_URL=${url}\n`);
  await chmod(env, 0o644);
  const found = await doctor(
    'coordinator',
    { SVC_NATS_URL: 'nats://127.0.0.1:1' },
    '--env-file',
    env,
    '--clock-from',
    from,
  );
  expect(found.of('files')).toEqual([expect.objectContaining({ level: 'failed', todo: `chmod 600 ${env}` })]);
  expect(found.of('disk').map(({ what }) => what)).toEqual([
    expect.stringContaining('MiB left'),
    expect.stringMatching(/a durable write takes [\d.]+ ms/),
  ]);
  expect(found.of('clock')).toEqual([
    expect.objectContaining({ level: 'failed', what: expect.stringMatching(/is (?:5[5-9]|60) s off/) }),
  ]);
  // The unit reads two files, and the later one wins.
  const second = join(folder, 'more.env');
  await writeFile(second, 'SVC_LISTEN=nowhere\n', { mode: 0o600 });
  const both = await doctor('coordinator', {}, '--env-file', env, '--env-file', second);
  expect(both.failed).toEqual([expect.stringContaining('SVC_LISTEN')]);
  const names = await doctor('agent', {
    ...AGENT,
    SVC_NATS_URL: 'tls://nats.invalid:4222',
    SVC_DNS_SERVERS: '127.0.0.1:9',
  });
  expect(names.of('dns').map(({ level }) => level)).toEqual(['failed', 'failed']);
  // A cause is reported once: a certificate that could not be read is not reported too.
  expect(names.of('tls').map(({ level }) => level)).toEqual(['skipped']);
});

test('reports settings with which the coordinator would not start', async () => {
  const { url } = await server('');
  const tlsFiles = certificateFiles();
  onTestFinished(() => tlsFiles.remove());
  const found = (more: Record<string, string>) => doctor('coordinator', { SVC_NATS_URL: url, ...more });
  expect((await found({ SVC_TLS_CERT: tlsFiles.certificate })).failed).toEqual([
    'SVC_TLS_CERT and SVC_TLS_KEY belong together: set both or neither',
  ]);
  expect(
    (
      await found({
        OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: tlsFiles.certificate,
        OTEL_EXPORTER_OTLP_CLIENT_KEY: tlsFiles.key,
      })
    ).failed,
  ).toEqual([
    expect.stringContaining(`${tlsFiles.key} has a secret, and every user of the machine may use it`),
  ]);
  const agent = { ...AGENT, SVC_NATS_URL: url, OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: tlsFiles.certificate };
  for (const halved of [await found(agent), await doctor('agent', agent)])
    expect(halved.failed).toEqual([expect.stringContaining('OTEL_EXPORTER_OTLP_CLIENT_KEY belong together')]);

  const file = (name: string): string => join(folder, name);
  for (const [name, content] of [
    ['secret-key', 'too short\n'],
    ['api-token', '\n'],
    ['svc.db', 'no database at all'],
  ] as const)
    await writeFile(file(name), content, { mode: 0o600 });
  expect((await found({ SVC_CONFIG: file('svc.yaml') })).failed).toEqual([
    `${file('secret-key')}: must be 32 bytes in base64`,
    expect.stringContaining(`${file('api-token')} is empty`),
    `${file('svc.db')} is damaged, or is no database of SQLite`,
    `there is no ${file('svc.yaml')}, which SVC_CONFIG names`,
  ]);
});

test('reaches every receiver of either process in the same way as the process does', async () => {
  const { url, port } = await server('');
  const closed = `127.0.0.1:${await freePort()}`;
  const otlp = { SVC_NATS_URL: url, OTEL_EXPORTER_OTLP_ENDPOINT: `http://${closed}` };
  const egress = async (role: string, more: Record<string, string>) =>
    (await doctor(role, { ...AGENT, ...otlp, ...more }))
      .of('egress')
      .map(({ level, what }) => `${level}: ${what}`);
  const refused = expect.stringMatching(
    /^warning: the endpoint of OTEL_EXPORTER_OTLP_\* is reached, and refuses/,
  );
  expect(await egress('agent', { SVC_PROBE_PROXY: `http://127.0.0.1:${port}` })).toEqual([
    'ok: the proxy is reached',
    refused,
  ]);
  expect(await egress('coordinator', { SVC_SMTP_URL: `smtp://127.0.0.1:${port}` })).toEqual([
    'ok: the relay of SVC_SMTP_URL is reached',
    refused,
  ]);
  // The proxy resolves the name.
  const byProxy = {
    SVC_CHANNEL_PROXY: `http://127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otlp.invalid',
  };
  expect(await egress('coordinator', byProxy)).toEqual(['ok: the proxy is reached']);
  expect(await egress('agent', { OTEL_SDK_DISABLED: 'true' })).toEqual([
    'skipped: nothing outside was tried',
  ]);
});

const noNetwork = whyNoOwnNetwork();
if (noNetwork !== null) console.warn(`skipped: the doctor beside a dead name server: ${noNetwork}`);

test.skipIf(noNetwork !== null)(
  'a name server that never answers holds up no finding, and the command ends',
  async () => {
    const args = ['doctor', 'agent', '--json', '--clock-from', 'https://clock.example.com/'];
    const { code, out } = await svcBesideSilentNameServer(folder, args, {
      ...AGENT,
      SVC_NATS_URL: 'tls://one.example.com:4222,tls://two.example.com:4222',
      SVC_REFERENCE_HOSTS: 'three.example.com:443',
    });
    const { findings } = JSON.parse(out) as { findings: Found[] };
    const of = (check: string) => findings.filter((finding) => finding.check === check);
    expect(code).toBe(1);
    expect(of('dns').map(({ level, what }) => `${level}: ${what}`)).toEqual([
      'failed: one.example.com cannot be resolved: no answer within 5 s',
      'failed: two.example.com cannot be resolved: no answer within 5 s',
    ]);
    expect(of('egress').map(({ what }) => what)).toEqual([
      expect.stringContaining('three.example.com cannot be resolved: no answer within 5 s'),
    ]);
    // A cause is reported once.
    for (const check of ['nats', 'tls', 'clock'])
      expect(new Set(of(check).map(({ level }) => level)), check).toEqual(new Set(['skipped']));
  },
);

test('prints a table without --json, and requires the role', async () => {
  const { url } = await server('');
  const { code, out } = await svc(['doctor', 'agent'], { ...AGENT, SVC_NATS_URL: url });
  expect(code).toBe(0);
  expect(out).toMatch(/^process +ok +Node\.js v/);
  expect(out).toMatch(/nats +warning +the key may also listen to jobs of hosta-arn/);
  expect(await svc(['doctor'], {})).toMatchObject({
    code: 2,
    err: expect.stringContaining('use "doctor coordinator" or "doctor agent"'),
  });
});
