/**
 * Runs the whole service in a network namespace of its own, behind a gateway to another namespace, while
 * its network fails in every way. `OwnNetwork` starts this program. It prints a line for each step.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { constants, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '@svc/shared/errors.ts';
import type { Region } from '@svc/shared/regions.ts';
import { LocalService } from '../local-service.ts';
import { type Receiver, startReceiver } from '../receiver.ts';
import { openForwarder } from './forwarder.ts';
import { BY_IPV6, NAMES, type Order, RESOLVER, SIX } from './outside.ts';
import { ip, ipIn } from './own-network.ts';

const REGIONS: readonly Region[] = ['hosta-fra', 'hostb-par', 'hostc-us-east4'];
const GATEWAY = '10.77.0.1';
const GATEWAY_6 = 'fd77::1';
const BY_ADDRESS = ['203.0.113.4', '203.0.113.5', '203.0.113.6', '203.0.113.7'];
/** Half of the targets that are addressed without a name. */
const HALF = BY_ADDRESS.slice(0, 2);
const OTHER_HALF = BY_ADDRESS.slice(2);
const WITH_IPV4 = [...Object.keys(NAMES), ...BY_ADDRESS];
const WITH_IPV6 = ['six.test', ...BY_IPV6];
const ALL = [...WITH_IPV4, ...WITH_IPV6];
/** Time-out of the probes' sockets, real ms. */
const TIMEOUT_MS = 600;

const folder = mkdtempSync(join(tmpdir(), 'svc-network-'));
const outside = spawn(
  'unshare',
  ['--net', process.execPath, fileURLToPath(new URL('outside.ts', import.meta.url))],
  {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  },
);

/** The outside has a higher priority for the CPU, because it stands for other machines. */
function leaveItTheCpus({ pid = 0 }: ChildProcess): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_HIGHEST);
  } catch (error) {
    // A container may not let its root do this.
    process.stderr.write(`the world outside is as late as its machine: ${messageOf(error)}\n`);
  }
}

function askNamesAt(server: string): void {
  writeFileSync(join(folder, 'resolv.conf'), `nameserver ${server}\noptions timeout:1 attempts:2\n`);
}

function layCables(): void {
  const pid = outside.pid ?? -1;
  askNamesAt(RESOLVER);
  execFileSync('mount', ['--bind', join(folder, 'resolv.conf'), '/etc/resolv.conf']);
  ip('link set lo up');
  ip(`link add up0 type veth peer name gw0 netns ${pid}`);
  for (const command of [
    'link set lo up',
    `addr add ${GATEWAY}/24 dev gw0`,
    `addr add ${GATEWAY_6}/64 dev gw0 nodad`,
  ]) {
    ipIn(pid, command);
  }
  for (const address of [...Object.values(NAMES), ...BY_ADDRESS, RESOLVER])
    ipIn(pid, `addr add ${address}/32 dev lo`);
  for (const address of [SIX, ...BY_IPV6]) ipIn(pid, `addr add ${address}/128 dev lo nodad`);
  ipIn(pid, 'link set gw0 up');
  ip('addr add 10.77.0.2/24 dev up0');
  linkUp();
}

/** Sets the link up again, with the addresses and routes that went away with it. */
function linkUp(): void {
  ip('link set up0 up');
  ip('addr replace fd77::2/64 dev up0 nodad');
  routesBack();
}

function routesBack(): void {
  ip(`route replace default via ${GATEWAY}`);
  ip(`-6 route replace default via ${GATEWAY_6}`);
}

/** Resolves when the outside world has this state. */
async function order(given: Order): Promise<void> {
  const done = once(outside, 'message');
  outside.send(given);
  await done;
}

function declaration(receiver: Receiver): object {
  const common = { periodicity: '30s', timeout: TIMEOUT_MS, retry: 0, active: true, regions: REGIONS };
  const hosts = ALL;
  const monitors = hosts.map((host, index) => [
    `m${index}`,
    { ...common, name: host, url: `http://${host.includes(':') ? `[${host}]` : host}/` },
  ]);
  return {
    svc_http_monitor: Object.fromEntries(monitors),
    svc_notification: {
      ops: {
        name: 'Ops',
        provider_type: 'webhook',
        webhook: { endpoint: receiver.url },
        monitor_ids: hosts.map((_, index) => `\${svc_http_monitor.m${index}.id}`),
      },
    },
  };
}

type Row = {
  name: string;
  region: string;
  outcome: string;
  reason: string | null;
  /** The message of the last attempt, if it failed. */
  message: string | null;
};
type RegionAnswer = { data: { region: Region; sick: string[] }[] };

/** The conditions that a step waits for. */
type Awaited = {
  /** Number of checks of each target by each region. */
  readonly checks?: number;
  /** Targets that have to pass once. */
  readonly passing?: readonly string[];
  /** Number of alerts that come. */
  readonly alerts?: number;
  /** The sicknesses that the regions report at the end, except a lack of CPU; left out: any. */
  readonly sick?: readonly string[];
};

const WAITING = "SELECT 1 FROM deliveries WHERE state = 'pending'";

class Story {
  readonly #service: LocalService;
  readonly #receiver: Receiver;
  #told = 0;

  constructor(service: LocalService, receiver: Receiver) {
    this.#service = service;
    this.#receiver = receiver;
  }

  /**
   * Keeps this state of the network until each region has checked each target this often and the awaited
   * events have come, and prints the outcomes. A machine that is short of CPU takes longer.
   */
  async step(
    step: string,
    change: () => void | Promise<void>,
    { checks = 2, passing = [], alerts: awaited = 0, sick: awaitedSick }: Awaited,
  ): Promise<void> {
    await change();
    const from = this.#service.clock.wall();
    await this.#service.until(
      async () => (await this.#haveAllBeenChecked(from, checks)) && (await this.#havePassed(from, passing)),
    );
    await this.#service.until(() => this.#receiver.requests.length >= this.#told + awaited);
    // The wait ends when all decided statuses are announced.
    await this.#service.until(async () => (await this.#service.query(WAITING)).length === 0);
    let sick: string[] = [];
    await this.#service.until(async () => {
      sick = await this.#sick();
      return (
        awaitedSick === undefined || sick.filter((each) => each !== 'starved').join() === awaitedSick.join()
      );
    });
    const outcomes: Record<string, string[]> = {};
    for (const { name, outcome, reason, message } of await this.#rows(from)) {
      const said = reason ?? (message === null ? outcome : `${outcome}: ${message}`);
      outcomes[name] = [...new Set([...(outcomes[name] ?? []), said])].toSorted();
    }
    const alerts = this.#receiver.requests.slice(this.#told).map(({ json }) => {
      const { monitor, status } = json as { monitor: { name: string }; status: string };
      return `${status} ${monitor.name}`;
    });
    this.#told += alerts.length;
    const line = { step, outcomes, alerts: alerts.toSorted(), sick };
    process.stdout.write(`${JSON.stringify(line)}\n`);
  }

  async #sick(): Promise<string[]> {
    const { data } = await this.#service.get<RegionAnswer>('/v1/regions');
    const sick = data.filter(({ region }) => REGIONS.includes(region)).flatMap((each) => each.sick);
    return [...new Set(sick)].toSorted();
  }

  async #havePassed(from: number, names: readonly string[]): Promise<boolean> {
    const passed = new Set(
      (await this.#rows(from)).filter(({ outcome }) => outcome === 'passed').map(({ name }) => name),
    );
    return names.every((name) => passed.has(name));
  }

  /** Checks that began after the change had taken effect. */
  #rows(from: number): Promise<Row[]> {
    return this.#service.query<Row>(
      `SELECT monitors.name, region, outcome, detail ->> 'reason' AS reason, error_message AS message
       FROM results JOIN monitors ON monitors.id = monitor_id WHERE slot > ?`,
      from + 2_000,
    );
  }

  async #haveAllBeenChecked(from: number, checks: number): Promise<boolean> {
    const counts = new Map<string, number>();
    for (const { name, region } of await this.#rows(from)) {
      counts.set(`${name} ${region}`, (counts.get(`${name} ${region}`) ?? 0) + 1);
    }
    return (
      counts.size === ALL.length * REGIONS.length && [...counts.values()].every((count) => count >= checks)
    );
  }
}

async function tell(service: LocalService, receiver: Receiver): Promise<void> {
  const story = new Story(service, receiver);
  const pid = outside.pid ?? -1;
  const back = { checks: 1, passing: ALL, sick: [] };
  const down = { sick: ['network-down'] };
  await story.step('calm', () => {}, back);
  await story.step('link down', () => ip('link set up0 down'), down);
  await story.step('back after link down', linkUp, back);
  await story.step(
    'default route gone',
    () => {
      ip('route del default');
      ip('-6 route del default');
    },
    down,
  );
  await story.step('back after default route gone', routesBack, back);
  await story.step(
    'resolver dead and half of the targets down',
    async () => {
      await order({ resolver: 'dead' });
      await order({ down: HALF });
    },
    { passing: OTHER_HALF, alerts: HALF.length },
  );
  await story.step(
    'back after resolver dead',
    async () => {
      await order({ resolver: 'answers' });
      await order({ down: [] });
    },
    { ...back, alerts: HALF.length },
  );
  await story.step('resolver silent', () => order({ resolver: 'silent' }), { passing: BY_ADDRESS });
  await story.step('back after resolver silent', () => order({ resolver: 'answers' }), back);
  await story.step(
    'IPv6 gone',
    () => {
      ip('-6 addr flush dev up0');
      ip('-6 route del default');
    },
    { passing: WITH_IPV4, sick: [] },
  );
  await story.step('IPv6 gone, its route left', () => ip('-6 route replace default dev up0'), {
    passing: WITH_IPV4,
    sick: [],
  });
  await story.step('back after IPv6 gone', linkUp, back);
  await story.step('IPv6 gateway gone', () => ipIn(pid, `addr del ${GATEWAY_6}/64 dev gw0`), {
    ...down,
    passing: WITH_IPV4,
  });
  await story.step(
    'back after IPv6 gateway gone',
    () => ipIn(pid, `addr replace ${GATEWAY_6}/64 dev gw0 nodad`),
    back,
  );
  await story.step('IPv4 gateway gone', () => ipIn(pid, `addr del ${GATEWAY}/24 dev gw0`), {
    ...down,
    passing: BY_IPV6,
  });
  await story.step(
    'back after IPv4 gateway gone',
    () => ipIn(pid, `addr replace ${GATEWAY}/24 dev gw0`),
    back,
  );
  await story.step(
    'gateway gone and half of the targets down',
    async () => {
      ipIn(pid, 'link set gw0 down');
      await order({ down: HALF });
    },
    down,
  );
  await story.step(
    'gateway back, half of the targets still down',
    () => {
      ipIn(pid, 'link set gw0 up');
      ipIn(pid, `addr replace ${GATEWAY_6}/64 dev gw0 nodad`);
      routesBack();
    },
    { passing: ALL.filter((name) => !HALF.includes(name)), alerts: HALF.length, sick: [] },
  );
  await story.step('back', () => order({ down: [] }), { ...back, alerts: HALF.length });
  const forwarder = await openForwarder();
  await story.step(
    'default route gone behind a forwarder',
    () => {
      askNamesAt(forwarder.address);
      ip('route del default');
      ip('-6 route del default');
    },
    down,
  );
  await story.step('gateway gone behind a forwarder', () => ipIn(pid, 'link set gw0 down'), down);
  forwarder.close();
}

async function run(): Promise<void> {
  let service: LocalService | null = null;
  const receiver = await startReceiver();
  try {
    await once(outside, 'message');
    leaveItTheCpus(outside);
    layCables();
    await order({ resolver: 'answers' });
    service = await LocalService.start({
      regions: REGIONS,
      declared: declaration(receiver),
      scale: 15,
      asksReferences: true,
    });
    await tell(service, receiver);
  } finally {
    await service?.dispose();
    await receiver.close();
    endOf(outside);
    execFileSync('umount', ['/etc/resolv.conf']);
    rmSync(folder, { recursive: true, force: true });
  }
}

function endOf(child: ChildProcess): void {
  if (child.connected) child.disconnect();
  child.kill('SIGKILL');
}

await run();
