/** Runs every command of docs/operations.md against real processes: NATS with TLS, a coordinator, an agent. */

import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { expect, type TestContext, test } from 'vitest';
import { findNatsServer } from '../../deploy/local/nats-server.mjs';
import { builtService } from '../support/built-services.ts';
import { type ConfiguredNats, startConfiguredNats } from '../support/configured-nats.ts';
import { reloadNatsAsUnit } from '../support/deployed/unit.ts';
import { freePort } from '../support/free-port.ts';
import { openedIn, targetIn } from '../support/opened.ts';
import { OtlpReceiver } from '../support/otlp-receiver.ts';
import { Program, ROOT } from '../support/process.ts';
import { PageShell, shellBlocks } from '../support/shell-page.ts';
import { TEST_AUTHORITY, TRUSTED } from '../support/tls/certificates.ts';

const PAGE = join(ROOT, 'docs/operations.md');

/** Starts and stops the services of the page's units, with the current settings of their files. */
class Units {
  readonly #folder: string;
  readonly #settings: Record<string, string>;
  readonly programs = new Map<string, Program>();
  #nats: ConfiguredNats | null = null;

  constructor(folder: string, settings: Record<string, string>) {
    this.#folder = folder;
    this.#settings = settings;
  }

  async call(action: string, unit: string): Promise<void> {
    if (action === 'status') return expect(this.programs.get(unit)?.pid, unit).toBeGreaterThan(0);
    if (action === 'reload') return await reloadNatsAsUnit(this.#nats?.pid ?? -1);
    if (action !== 'start') await this.#stop(unit);
    if (action !== 'stop') await this.#start(unit);
  }

  async close(): Promise<void> {
    for (const unit of this.programs.keys()) await this.programs.get(unit)?.end('SIGKILL');
    await this.#nats?.close();
  }

  async #stop(unit: string): Promise<void> {
    expect(await this.programs.get(unit)?.end('SIGTERM'), unit).toBe(0);
  }

  async #start(unit: string): Promise<void> {
    if (unit === 'svc-nats') {
      this.#nats = await startConfiguredNats(join(this.#folder, 'etc/nats/nats.conf'));
      return;
    }
    const [, region] = /^svc-agent@(.+)$/.exec(unit) ?? [];
    const file = region === undefined ? 'coordinator-nats.env' : `agent-${region}.env`;
    const part = region === undefined ? 'coordinator' : 'agent';
    const settings = parseEnv(await readFile(join(this.#folder, 'etc', file), 'utf8'));
    const more = region === undefined ? this.#settings : { SVC_AGENT_ID: 'one', SVC_DRAIN_MS: '2000' };
    const program = new Program(await builtService(part), { ...settings, ...more } as Record<string, string>);
    this.programs.set(unit, program);
    const joined =
      region === undefined
        ? Promise.resolve()
        : this.programs.get('svc-coordinator')?.line(({ msg }) => msg === 'an agent has connected');
    await program.start();
    await joined;
  }
}

async function machineIn(context: TestContext) {
  const opened = openedIn(context);
  const folder = await mkdtemp(join(tmpdir(), 'svc-operations-'));
  opened.push({ close: () => rm(folder, { recursive: true, force: true }) });
  const target = await targetIn(opened);
  const metrics = await OtlpReceiver.start();
  opened.push(metrics);
  const natsPort = await freePort();
  const apiPort = await freePort();
  for (const name of ['etc', 'etc/tls', 'lib', 'run', 'backup', 'home']) await mkdir(join(folder, name));
  await writeFile(join(folder, 'etc/tls/server.pem'), TRUSTED.cert);
  await writeFile(join(folder, 'etc/tls/server-key.pem'), TRUSTED.key, { mode: 0o600 });
  await writeFile(join(folder, 'etc/ca.pem'), TEST_AUTHORITY);
  // This is what "install.sh coordinator" writes.
  await writeFile(join(folder, 'etc/coordinator.env'), '# no settings yet\n', { mode: 0o600 });
  const declared = join(folder, 'svc.json');
  await writeFile(declared, JSON.stringify(declaration(target.url, metrics.url)));
  const units = new Units(folder, {
    SVC_DATA_DIR: join(folder, 'lib/svc'),
    SVC_LISTEN: `127.0.0.1:${apiPort}`,
    SVC_CONFIG: declared,
    SVC_CHANNEL_EGRESS_ALLOW: '127.0.0.0/8',
  });
  opened.push({ close: () => units.close() });
  const { path: natsServer } = await findNatsServer();
  const { shell, close } = await PageShell.open(
    folder,
    {
      PATH: `${dirname(natsServer)}:${process.env.PATH ?? ''}`,
      HOME: join(folder, 'home'),
      SVC_BASE_URL: `http://127.0.0.1:${apiPort}`,
      NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/node'),
    },
    {
      // On a busy machine an agent may report for a while that it is short of CPU, and the service is not
      // healthy then. An incident begins with the first result. The loops that wait end with the process of
      // the test.
      svc: `#!/bin/sh
svc() { '${process.execPath}' -- '${await builtService('svc')}' "$@"; }
if [ "$1" != status ] && [ "$1 $2" != 'incident update' ]; then svc "$@"; exit; fi
until said=$(svc "$@"); do kill -0 ${process.pid} || exit 1; sleep 1; done
echo "$said"
`,
      systemctl: '#!/bin/sh\naction=$1; shift\nfor unit; do call "$action" "$unit" || exit 1; done\n',
      // The other machine of the page is this machine.
      scp: `#!/bin/sh\n[ "$1" = "\${2#*:}" ] || cp "$1" "\${2#*:}"\n`,
    },
    ([action = '', unit = '']) => units.call(action, unit),
  );
  opened.push({ close });
  const places = [
    ['/etc/svc', join(folder, 'etc')],
    ['/var/lib/svc-nats', join(folder, 'lib/nats')],
    ['/var/lib/svc', join(folder, 'lib/svc')],
    ['/run/svc-nats', join(folder, 'run')],
    ['/backup', join(folder, 'backup')],
    ['nats.example.com:4222', `localhost:${natsPort}`],
    ['0.0.0.0:4222', `127.0.0.1:${natsPort}`],
    ['http://127.0.0.1:8080', `http://127.0.0.1:${apiPort}`],
    ['https://www.example.com/', target.url],
    ['2026-11-25', new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10)],
    ['--monitor 12', '--monitor 1'],
    ['maintenance end 4', 'maintenance end 1'],
    ['maintenance remove 4', 'maintenance remove 1'],
    ['incident update 31', 'incident update 1'],
    ['acknowledge 31', 'acknowledge 1'],
    ['mute 12', 'mute 1'],
  ] as const;
  const here = (block: string): string =>
    places.reduce((text, [there, place]) => text.replaceAll(there, place), block);
  return { shell, units, here };
}

/** Declares a monitor that is exported, one whose target is away, and a channel. */
function declaration(url: string, metrics: string): object {
  const monitor = { periodicity: '30s', active: true, regions: ['hosta-ams'] };
  const web = { ...monitor, name: 'Web', url, otlp_endpoint: metrics };
  const away = { ...monitor, name: 'Away', url: 'http://127.0.0.1:1/' };
  const webhook = { endpoint: `${metrics}/hook` };
  return {
    svc_http_monitor: { web, away },
    svc_notification: { ops: { name: 'Ops', provider_type: 'webhook', webhook } },
  };
}

/** Commands that build the programs. They are not run here: the tests of releases and deployments run them. */
const BUILDING = ['npm run build', 'sh deploy/systemd/install.sh agent'];

/** Commands that stand only within sentences of the page, not in a block. */
function furtherCommands(markdown: string): string[] {
  const blocks = shellBlocks(markdown);
  const lines = blocks.join('\n').replaceAll('\\\n', ' ').split('\n');
  const text = blocks.reduce((left, block) => left.replace(block, ''), markdown);
  const named = [...text.matchAll(/`((?:svc|systemctl|nats-server|npm|sh|scp)\s[^`]+)`/g)].map(
    ([, command = '']) => command.replace(/\s+/g, ' '),
  );
  const isInBlock = (command: string) => lines.some((line) => ` ${line} `.includes(` ${command} `));
  return [...new Set(named)].filter((command) => !isInBlock(command) && !BUILDING.includes(command));
}

test('every command of the page does what the page says', async (context) => {
  const { shell, units, here } = await machineIn(context);
  const page = await readFile(PAGE, 'utf8');
  // Those with `npm start` run until they are ended: `start.test.ts` runs them.
  const blocks = shellBlocks(page).filter((block) => !block.includes('npm start'));
  expect(blocks.length).toBeGreaterThan(12);
  const run = (block: string) =>
    shell.run(here(block)).catch((error: unknown) => {
      const logs = [...units.programs].map(([unit, program]) => `${unit}:\n${program.lastLines()}`);
      throw new Error(`${block}\n${String(error)}\n${logs.join('\n')}`, { cause: error });
    });
  for (const block of blocks) {
    const said = await run(block);
    if (block.includes('svc status')) expect(said).toMatch(/^healthy$/m);
    if (block.includes('svc region list')) expect(said).toMatch(/^hosta-ams .* 1$/m);
    if (block.includes('svc check')) expect(said).toContain('passed');
    if (block.includes('svc doctor')) expect(said).not.toContain('FAILED');
  }

  await run('svc region add hosta-fra');
  const further = furtherCommands(page);
  expect(further.length).toBeGreaterThan(8);
  const tokens = await run('svc token list');
  const values = [
    ['MONITOR', '1'],
    ['CHANNEL', '1'],
    ['REGION', 'hosta-fra'],
    ['<command>', 'region'],
    [' ID', ` ${/^(\d+) .*laptop/m.exec(tokens)?.[1]}`],
    ['npm run --silent svc --', `npm --prefix '${ROOT}' run --silent svc -- --help`],
  ] as const;
  for (const command of further)
    await run(values.reduce((text, [name, value]) => text.replace(name, value), command));
});

test('the page shows no command that is not run', async () => {
  const text = await readFile(PAGE, 'utf8');
  expect(text.match(/^```(?!sh$).+$/gm) ?? []).toEqual([]);
  expect(text.match(/^ {4}\S.*/gm) ?? []).toEqual([]);
});
