/**
 * Runs the commands of the part of `docs/deployment.md` about the large form: an
 * installation of one machine moves to it with its history, and loses a machine.
 */
import { appendFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Company } from '../../support/deployed/company.ts';
import { whyNotConfined } from '../../support/deployed/confined.ts';
import { BY_A_PROCESS, type Machine } from '../../support/deployed/machine.ts';
import { commandsUnder } from '../../support/deployed/page.ts';

const reason = whyNotConfined();
const isSkipped = reason !== null && process.env.CI !== 'true';
if (isSkipped) process.stdout.write(`skipped: the large form on machines of its own: ${reason}\n`);

/** The machines share one network, so each of the three servers listens on an address of its own. */
const ADDRESSES = { a: '127.0.0.11', b: '127.0.0.12', c: '127.0.0.13' };
const HOSTS = [
  '127.0.0.1 nats.example.com',
  ...Object.entries(ADDRESSES).map(([name, address]) => `${address} ${name}.example.com`),
].join('\n');
const RECEIVER = 'http://127.0.0.1:4318/alerts';

const copy = (from: Machine, to: Machine, ...paths: readonly string[]): void => {
  for (const path of paths) cpSync(join(from.root, path), join(to.root, path), { recursive: true });
};

/** The lines of a page for the region of the test only. */
const ofRegion = (lines: readonly string[]): string[] =>
  lines
    .filter((line) => !/hostb-par|hostc-us-east4/.test(line))
    .map((line) => line.replace('--env-file agent-', '--env-file /tmp/agent-'));

test.skipIf(isSkipped)(
  'one machine becomes the large form, which loses a machine and still alerts',
  async (context) => {
    const company = await Company.create(context);
    await company.helper('test/support/deployed/receiver-process.ts');
    const [a, b, c, outside] = [0, 1, 2, 3].map(() => company.machine(HOSTS)) as [
      Machine,
      Machine,
      Machine,
      Machine,
    ];

    // One machine, as the first sections of the page set it up.
    const first = commandsUnder("The coordinator's machine").filter((line) => !line.startsWith('curl'));
    const settings = 'echo SVC_CHANNEL_EGRESS_ALLOW=127.0.0.0/8 >> /etc/svc/coordinator.env';
    first.splice(first.indexOf('systemctl enable --now svc-coordinator'), 0, settings);
    await company.follow(a, first);
    const [adding = '', ...onAgent] = ofRegion(commandsUnder('An agent in each region'));
    await company.follow(a, [adding]);
    const giveSettings = () => {
      mkdirSync(join(outside.root, 'etc/svc'), { recursive: true });
      copy(a, outside, 'etc/svc/ca.pem');
      cpSync(join(a.root, 'tmp/agent-hosta-fra.env'), join(outside.root, 'etc/svc/agent-hosta-fra.env'));
    };
    giveSettings();
    await company.follow(outside, onAgent);
    const token = readFileSync(join(a.root, 'var/lib/svc/api-token'), 'utf8').trim();
    const ask = async (port: number, path: string, body?: object) => {
      const headers = [
        '--header',
        `Authorization: Bearer ${token}`,
        '--header',
        'Content-Type: application/json',
      ];
      const data = body === undefined ? [] : ['--data', JSON.stringify(body)];
      const url = `http://127.0.0.1:${port}/v1/${path}`;
      return JSON.parse(
        await company.network.run('curl', '--silent', '--fail-with-body', ...headers, ...data, url),
      );
    };
    const monitor = { type: 'tcp', periodicity: '30s', active: true, regions: ['hosta-fra'] };
    await ask(8080, 'monitors', { ...monitor, name: 'Receiver', uri: '127.0.0.1:4318' });
    const results = async (port: number) =>
      ((await ask(port, 'monitors/1/results')) as { data: { slot: string }[] }).data;
    await expect.poll(() => results(8080), BY_A_PROCESS).not.toEqual([]);
    const [before] = await results(8080);

    // The large form.
    const preparing = ofRegion(commandsUnder('Prepare, while the service runs'));
    const [init = ''] = commandsUnder('Several NATS servers');
    const inits = Object.entries(ADDRESSES).map(([name, address]) =>
      init.replace('--server-name a ', `--server-name ${name} `).replaceAll('0.0.0.0', address),
    );
    const regions = preparing.findIndex((line) => line.startsWith('svc region add'));
    await company.follow(a, [...preparing.slice(0, regions), ...inits, ...preparing.slice(regions)]);
    const url = join(a.root, 'tmp/database-url');
    await company.helper('test/support/deployed/postgres-process.ts', url);
    writeFileSync(join(a.root, 'etc/svc/database-url'), readFileSync(url));

    const moving = commandsUnder('Move');
    const onServers = moving.indexOf('sh deploy/systemd/install.sh nats');
    const onFirst = moving.indexOf('systemctl start svc-coordinator');
    await company.follow(outside, ['systemctl stop svc-agent@hosta-fra']);
    await company.follow(a, moving.slice(0, onServers));
    for (const [name, machine] of [
      ['b', b],
      ['c', c],
    ] as const) {
      mkdirSync(join(machine.root, 'etc/svc/nats'), { recursive: true });
      copy(a, machine, 'etc/svc/tls', 'etc/svc/nats/accounts.conf');
      cpSync(join(a.root, `etc/svc/nats/nats-${name}.conf`), join(machine.root, 'etc/svc/nats/nats.conf'));
      await company.follow(machine, moving.slice(onServers, onFirst));
    }
    await company.follow(a, moving.slice(onFirst, onFirst + 1));
    mkdirSync(join(b.root, 'var/lib/svc'), { recursive: true });
    const files = ['coordinator.env', 'coordinator-nats.env', 'database-url', 'ca.pem'].map(
      (name) => `etc/svc/${name}`,
    );
    copy(a, b, ...files, 'var/lib/svc/secret-key', 'var/lib/svc/api-token');
    appendFileSync(join(b.root, 'etc/svc/coordinator.env'), 'SVC_LISTEN=127.0.0.1:8081\n');
    const [second] = await company.follow(b, moving.slice(onFirst + 1));
    giveSettings();
    await company.follow(outside, ['systemctl start svc-agent@hosta-fra']);

    for (const port of [8080, 8081]) expect(await results(port)).toContainEqual(before);
    await expect.poll(async () => (await results(8081))[0], BY_A_PROCESS).not.toEqual(before);

    // The machine of the leader is lost, with its NATS server.
    const leads = second?.line(({ event }) => event === 'leading');
    await Promise.all(['svc-coordinator', 'svc-nats'].map((unit) => company.end(a, unit, 'SIGKILL')));
    await leads;
    const down = await ask(8081, 'monitors', { ...monitor, name: 'Down', uri: '127.0.0.1:1' });
    const channel = {
      name: 'Ops',
      provider_type: 'webhook',
      webhook: { endpoint: RECEIVER },
      monitor_ids: [down.id],
    };
    await ask(8081, 'notifications', channel);
    await expect
      .poll(async () => (await company.received()).alerts, BY_A_PROCESS)
      .toContainEqual(expect.objectContaining({ status: 'error' }));

    // Back to one machine: the one that is left. It has no database of before the move.
    const back = commandsUnder('Back to one machine').filter((line) => !line.startsWith('mv '));
    await company.follow(b, back);
    await expect.poll(() => results(8081), BY_A_PROCESS).toContainEqual(before);
  },
);
