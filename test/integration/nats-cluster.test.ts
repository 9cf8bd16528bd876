/**
 * A cluster of three real NATS servers with TLS, made with the files of `svc region init --cluster` and the
 * certificates of `deploy/nats/certificates.sh`. A region's agent and the coordinator are connected to
 * different servers, and one server ends.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  heartbeatSubject,
  jobsSubject,
  resultsStream,
  resultsSubject,
} from '@svc/shared/messages/subjects.ts';
import { connect, type NatsConnection, nkeyAuthenticator, type Subscription } from 'nats';
import { expect, type TestContext, test } from 'vitest';
import { type ConfiguredNats, startConfiguredNats } from '../support/configured-nats.ts';
import { freePort } from '../support/free-port.ts';
import { svc } from '../support/svc.ts';

const run = promisify(execFile);
const NAMES = ['a', 'b', 'c'] as const;
type Name = (typeof NAMES)[number];
const REGION = 'hosta-fra';

/** The servers, and a function that connects to the client ports of some of them with the key of a part. */
async function clusterIn(context: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-cluster-'));
  context.onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await run('sh', ['deploy/nats/certificates.sh', folder, 'localhost', '127.0.0.1']);
  const ports = await Promise.all(NAMES.map(async () => [await freePort(), await freePort()] as const));
  const portOf = (name: Name, kind: 0 | 1): number => ports[NAMES.indexOf(name)]?.[kind] ?? 0;
  const file = (name: string): string => join(folder, name);
  const region = (...args: readonly string[]) => svc(['region', ...args, '--nats-dir', folder], {});
  const init = (name: Name) =>
    region(
      ...['init', '--cluster', 'svc', '--server-name', name],
      ...['--listen', `127.0.0.1:${portOf(name, 0)}`, '--cluster-listen', `127.0.0.1:${portOf(name, 1)}`],
      ...['--url', NAMES.map((each) => `tls://localhost:${portOf(each, 0)}`).join()],
      ...['--cluster-routes', NAMES.map((each) => `127.0.0.1:${portOf(each, 1)}`).join()],
      ...['--cert', file('server.pem'), '--key', file('server-key.pem'), '--cluster-ca', file('ca.pem')],
      ...['--ca', file('ca.pem'), '--store', file(`store-${name}`)],
    );
  for (const name of NAMES) expect(await init(name)).toMatchObject({ code: 0 });
  expect(await region('add', REGION)).toMatchObject({ code: 0 });
  const servers = new Map<Name, ConfiguredNats>();
  for (const name of NAMES) {
    const server = await startConfiguredNats(file(`nats-${name}.conf`));
    context.onTestFinished(() => server.close());
    servers.set(name, server);
  }
  return {
    init,
    /** The file to which the server writes its process id. */
    pidFileOf: (name: Name) => file(`nats-server-${name}.pid`),
    async connection(part: 'coordinator' | 'agent', at: readonly Name[]): Promise<NatsConnection> {
      const seed = await readFile(file(part === 'agent' ? `agent-${REGION}.nk` : 'coordinator.nk'), 'utf8');
      const connection = await connect({
        servers: at.map((name) => `tls://localhost:${portOf(name, 0)}`),
        noRandomize: true,
        authenticator: nkeyAuthenticator(new TextEncoder().encode(seed.trim())),
        inboxPrefix: part === 'agent' ? `_INBOX_${REGION}` : '_INBOX',
        tls: { caFile: file('ca.pem') },
        reconnectTimeWait: 50,
        maxReconnectAttempts: -1,
      });
      context.onTestFinished(() => connection.close());
      return connection;
    },
    end: (name: Name) => servers.get(name)?.close(),
  };
}

/**
 * Publishes until a message has come, because the servers need a moment to tell each other of a subscription.
 */
async function untilHeard(publish: () => void, subscription: Subscription): Promise<string> {
  const heard = subscription[Symbol.asyncIterator]().next();
  const timer = setInterval(publish, 50);
  try {
    return (await heard).value?.string() ?? '';
  } finally {
    clearInterval(timer);
  }
}

test('a cluster of three servers carries jobs, results and heartbeats, even when one is down', async (context) => {
  const cluster = await clusterIn(context);
  const coordinator = await cluster.connection('coordinator', ['a', 'b']);
  const agent = await cluster.connection('agent', ['c']);

  const jobs = agent.subscribe(jobsSubject(REGION), { queue: 'agents' });
  expect(await untilHeard(() => coordinator.publish(jobsSubject(REGION), 'job'), jobs)).toBe('job');
  const signs = coordinator.subscribe(heartbeatSubject(REGION, 'one'));
  expect(await untilHeard(() => agent.publish(heartbeatSubject(REGION, 'one'), 'alive'), signs)).toBe(
    'alive',
  );

  // The servers elect a leader of JetStream first.
  const stream = { name: resultsStream(REGION), subjects: [resultsSubject(REGION)] };
  const made = async () => (await (await coordinator.jetstreamManager()).streams.add(stream)).config.name;
  await expect.poll(() => made().catch(String)).toBe(stream.name);
  const recorded = async () => {
    const answer = await agent.request(resultsSubject(REGION), 'result', { timeout: 10_000 });
    return answer.json<{ stream?: string }>().stream;
  };
  await expect.poll(() => recorded().catch(String)).toBe(stream.name);

  jobs.unsubscribe();
  await cluster.end('a');
  await expect
    .poll(() =>
      coordinator.flush().then(
        () => coordinator.info?.server_name,
        () => 'none',
      ),
    )
    .toBe('b');
  const further = agent.subscribe(jobsSubject(REGION), { queue: 'agents' });
  expect(await untilHeard(() => coordinator.publish(jobsSubject(REGION), 'next'), further)).toBe('next');
});

test('a server that does not reload is reported, whatever the others of its cluster do', async (context) => {
  const { init, pidFileOf } = await clusterIn(context);
  const pidOfB = (await readFile(pidFileOf('b'), 'utf8')).trim();
  // The file of server a has the process id of server b, so the signal goes to the wrong server.
  await writeFile(pidFileOf('a'), pidOfB);
  const { err } = await init('b');
  expect(err).toContain(`told the server ${pidOfB} to reload nats-a.conf, and it does not say that it did`);
  expect(err).toContain(`reloaded the server ${pidOfB} with nats-b.conf`);
});
