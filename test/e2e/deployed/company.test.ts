/**
 * Follows README as a new user does who reads nothing else. The test runs its commands on simulated machines.
 * Instead of `systemctl` it starts the units by their command, user, variables, file modes and read-only
 * root.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '@svc/coordinator/store/open.ts';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { Company } from '../../support/deployed/company.ts';
import { whyNotConfined } from '../../support/deployed/confined.ts';
import { BY_A_PROCESS } from '../../support/deployed/machine.ts';
import { commandsUnder } from '../../support/deployed/page.ts';
import type { LoggedProcess } from '../../support/process.ts';
import { svc } from '../../support/svc.ts';

const reason = whyNotConfined();
const isSkipped = reason !== null && process.env.CI !== 'true';
if (isSkipped)
  process.stdout.write(`skipped: the deployment of a company on machines of its own: ${reason}\n`);

const REGIONS = ['hosta-fra', 'hostb-par', 'hostc-us-east4'] as const;
const README = 'README.md';
const RECEIVER = 'test/support/deployed/receiver-process.ts';

test.skipIf(isSkipped)('a company runs svc as README says', async (context) => {
  const company = await Company.create(context);
  const startedAt = performance.now();
  const took = () => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
  await company.helper(RECEIVER);
  const office = company.machine();
  // The test's receiver is on the machine itself, so it has no TLS. The period is shortened, so that the test
  // need not wait a minute.
  const lines = commandsUnder("The coordinator's machine", README).map((line) =>
    line.replace('=https://otlp.example.com', '=http://127.0.0.1:4318'),
  );
  const settings = lines.findIndex((line) => line.startsWith('echo OTEL_'));
  expect(settings).toBeGreaterThan(0);
  lines.splice(settings, 0, 'echo OTEL_METRIC_EXPORT_INTERVAL=1000 >> /etc/svc/coordinator.env');
  // The machine takes over what `npm start` has collected.
  const [, restore = '', giving = ''] = commandsUnder('From `npm start`');
  lines.splice(lines.indexOf('systemctl enable --now svc-coordinator'), 0, restore, giving);
  const token = 'a'.repeat(64);
  await backUp(token, join(office.root, 'var/lib/svc-backup'));
  const [coordinator] = await company.follow(office, lines);
  expect(readFileSync(join(office.root, 'var/lib/svc/api-token'), 'utf8').trim()).toBe(token);

  const [adding = [], onAgents = []] = split(
    commandsUnder('An agent in each region', README),
    'sh deploy/systemd/install.sh agent',
  );
  await company.follow(
    office,
    adding.map((line) => line.replace(/--env-file (\S+)/, '--env-file /tmp/$1')),
  );
  const agents: LoggedProcess[] = [];
  for (const region of REGIONS) {
    const machine = company.machine();
    mkdirSync(join(machine.root, 'etc/svc'));
    const name = `agent-${region}.env`;
    cpSync(join(office.root, 'tmp', name), join(machine.root, 'etc/svc', name));
    cpSync(join(office.root, 'etc/svc/ca.pem'), join(machine.root, 'etc/svc/ca.pem'));
    agents.push(
      ...(await company.follow(
        machine,
        onAgents.map((line) => line.replace('hosta-fra', region)),
      )),
    );
  }

  const [declaring = '', asking = ''] = commandsUnder('The first result', README);
  expect(JSON.parse(await office.shell(declaring))).toMatchObject({ name: 'NATS', active: true });
  const regions = async () => {
    const { data } = JSON.parse(await office.shell(asking)) as {
      data: { region: string; outcome: string; reason: string | null }[];
    };
    // On a busy machine an agent may abstain for a while, because it is short of CPU.
    const judged = data.filter(({ reason }) => reason !== 'agent-starved');
    return [...new Set(judged.map(({ region, outcome }) => `${region} ${outcome}`))].sort();
  };
  await expect.poll(regions, BY_A_PROCESS).toEqual(REGIONS.map((region) => `${region} passed`));
  process.stdout.write(`deployment: a result of each of three regions ${took()} after the first command\n`);
  await expect.poll(async () => (await company.received()).regions, BY_A_PROCESS).toEqual([...REGIONS]);
  process.stdout.write(`deployment: an exported point of each of them after ${took()}\n`);

  const modeOf = (path: string) => (statSync(join(office.root, path)).mode & 0o777).toString(8);
  expect(modeOf('var/lib/svc/api-token')).toBe('600');
  expect(modeOf('etc/svc/coordinator-nats.env')).toBe('600');
  for (const service of [...agents, coordinator]) {
    expect(await service?.end('SIGTERM')).toBe(0);
    expect(service?.noise).toEqual([]);
    expect(service?.lines.filter(({ level, sick }) => level >= 40 && sick !== 'starved')).toEqual([]);
  }
});

/** Makes a backup of an installation that has this token. */
async function backUp(token: string, path: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-npm-start-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const store = await openStore({ path: join(folder, 'svc.db'), log: pino({ level: 'silent' }) });
  await store.close();
  writeFileSync(join(folder, 'api-token'), `${token}\n`, { mode: 0o600 });
  expect(await svc(['backup', path], { SVC_DATA_DIR: folder })).toMatchObject({ code: 0 });
}

/** The lines before the first one that equals `line`, and the lines from it on. */
function split(lines: readonly string[], line: string): [string[], string[]] {
  const at = lines.indexOf(line);
  if (at === -1) throw new Error(`there is no line "${line}"`);
  return [lines.slice(0, at), lines.slice(at)];
}
