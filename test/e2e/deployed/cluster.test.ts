/**
 * Runs the commands of the part of `docs/deployment.md` about several NATS servers. They set up three
 * servers, which must form a cluster.
 */
import type { ChildProcess } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { startConfined, whyNotConfined } from '../../support/deployed/confined.ts';
import { sharedDist } from '../../support/deployed/dist.ts';
import { LoopbackNetwork, Machine } from '../../support/deployed/machine.ts';
import { commandsUnder } from '../../support/deployed/page.ts';

const reason = whyNotConfined();
const isSkipped = reason !== null && process.env.CI !== 'true';
if (isSkipped) process.stdout.write(`skipped: three NATS servers on machines of their own: ${reason}\n`);

/**
 * The machines share one network, so each server listens on an address of its own instead of all addresses.
 */
const ADDRESSES = new Map([
  ['a', '127.0.0.11'],
  ['b', '127.0.0.12'],
  ['c', '127.0.0.13'],
]);
const HOSTS = [...ADDRESSES].map(([name, address]) => `${address} ${name}.example.com\n`).join('');

/** What the server has logged so far. */
function logOf(machine: Machine, context: TestContext): { text: string } {
  const child: ChildProcess = startConfined(machine.confinementOf('svc-nats.service'));
  context.onTestFinished(() => void child.kill('SIGKILL'));
  const log = { text: '' };
  child.stderr?.on('data', (chunk: Buffer) => {
    log.text += chunk.toString();
  });
  return log;
}

test.skipIf(isSkipped)('three servers find each other as the page says', async (context) => {
  const dist = await sharedDist();
  const network = await LoopbackNetwork.create();
  context.onTestFinished(() => network.close());
  const machines = new Map<string, Machine>();
  for (const name of ADDRESSES.keys()) {
    const machine = new Machine(network, dist.folder);
    context.onTestFinished(() => machine.remove());
    writeFileSync(join(machine.root, 'etc/hosts'), `127.0.0.1 localhost\n${HOSTS}`);
    machines.set(name, machine);
  }
  const onFirst = (line: string) => machines.get('a')?.shell(line);
  const before = commandsUnder("The coordinator's machine");
  const access = before.filter((line) => /^ch(?:grp|mod) /.test(line));
  expect(access).toHaveLength(3);
  const names = [...ADDRESSES.keys()].map((name) => `${name}.example.com`).join(' ');
  for (const line of before.slice(
    0,
    before.findIndex((one) => one.startsWith('svc region init')),
  ))
    await onFirst(line.replace('nats.example.com', names));

  const [init = ''] = commandsUnder('Several NATS servers');
  for (const [name, address] of ADDRESSES)
    await onFirst(init.replace('--server-name a ', `--server-name ${name} `).replaceAll('0.0.0.0', address));
  await onFirst('svc region add hosta-fra --nats-dir /etc/svc/nats --env-file /tmp/agent.env');

  const first = machines.get('a')?.root ?? '';
  const logs: { text: string }[] = [];
  for (const [name, machine] of machines) {
    const own = (path: string) => join(machine.root, 'etc/svc', path);
    if (name !== 'a') {
      await machine.shell('sh deploy/systemd/install.sh nats');
      mkdirSync(own('nats'));
      cpSync(join(first, 'etc/svc/tls'), own('tls'), { recursive: true });
      cpSync(join(first, 'etc/svc/nats/accounts.conf'), own('nats/accounts.conf'));
    }
    cpSync(join(first, `etc/svc/nats/nats-${name}.conf`), own('nats/nats.conf'));
    for (const line of access) await machine.shell(line);
    logs.push(logOf(machine, context));
  }
  // Electing a leader takes a majority. Only the leader is certain to log it: a server that starts later
  // finds one elected.
  const said = () => logs.map(({ text }) => text).join('');
  await expect.poll(said).toContain('Self is new JetStream cluster metadata leader');
  for (const log of logs) await expect.poll(() => log.text).toContain('Route connection created');
});
