import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'vitest';
import { untilReady } from '../nats-server.ts';
import { endChild, type LoggedProcess, ROOT } from '../process.ts';
import { startConfined } from './confined.ts';
import { type Dist, sharedDist } from './dist.ts';
import { LoopbackNetwork, Machine } from './machine.ts';

/** The requests that the helper `receiver-process.ts` has got. */
type Received = { readonly regions: string[]; readonly alerts: unknown[] };

/** A running unit of a machine. */
type Unit = { end(signal: NodeJS.Signals): Promise<unknown> };

/** The machines and processes of the company. They end with the test. */
export class Company {
  readonly network: LoopbackNetwork;
  readonly #dist: Dist;
  readonly #context: TestContext;
  readonly #units = new Map<Machine, Map<string, Unit>>();

  private constructor(network: LoopbackNetwork, dist: Dist, context: TestContext) {
    this.network = network;
    this.#dist = dist;
    this.#context = context;
  }

  static async create(context: TestContext): Promise<Company> {
    const dist = await sharedDist();
    const network = await LoopbackNetwork.create();
    context.onTestFinished(() => network.close());
    return new Company(network, dist, context);
  }

  /**
   * Makes a machine.
   *
   * @param hosts the names that the machine can resolve, in the format of `/etc/hosts`
   */
  machine(hosts = '127.0.0.1 nats.example.com'): Machine {
    const machine = new Machine(this.network, this.#dist.folder);
    this.#context.onTestFinished(() => machine.remove());
    writeFileSync(join(machine.root, 'etc/hosts'), `127.0.0.1 localhost\n${hosts}\n`);
    return machine;
  }

  /**
   * Runs the commands of a page. Starts and stops the units that the commands tell systemd
   * to start and stop. Returns the services of svc that were started, when they are ready.
   */
  async follow(machine: Machine, lines: readonly string[]): Promise<LoggedProcess[]> {
    const services: LoggedProcess[] = [];
    for (const line of lines) {
      const [, action, unit = ''] = /^systemctl (enable --now|start|stop) (\S+)$/.exec(line) ?? [];
      if (action === undefined) await machine.shell(line);
      else if (action === 'stop') await this.end(machine, unit, unit === 'svc-nats' ? 'SIGUSR2' : 'SIGTERM');
      else if (unit === 'svc-nats') await this.#startNats(machine);
      else services.push(await this.#start(machine, unit));
    }
    return services;
  }

  /** Ends a running unit of a machine. */
  async end(machine: Machine, unit: string, signal: NodeJS.Signals): Promise<void> {
    await this.#units.get(machine)?.get(unit)?.end(signal);
  }

  async #start(machine: Machine, unit: string): Promise<LoggedProcess> {
    const service = machine.service(`${unit}.service`);
    this.#note(machine, unit, service);
    await service.start();
    return service;
  }

  async #startNats(machine: Machine): Promise<void> {
    const child = startConfined(machine.confinementOf('svc-nats.service'));
    this.#note(machine, 'svc-nats', { end: (signal) => endChild(child, signal) });
    await untilReady(child);
  }

  /** Keeps a unit for {@link Company.end}. The unit ends with the test. */
  #note(machine: Machine, name: string, unit: Unit): void {
    this.#context.onTestFinished(async () => {
      await unit.end('SIGKILL');
    });
    this.#units.set(machine, (this.#units.get(machine) ?? new Map<string, Unit>()).set(name, unit));
  }

  /** Starts a helper process of the test, in the network of the machines. */
  async helper(file: string, ...args: readonly string[]): Promise<void> {
    const started = await this.network.start(process.execPath, join(ROOT, file), ...args);
    this.#context.onTestFinished(() => started.close());
  }

  async received(): Promise<Received> {
    return JSON.parse(
      await this.network.run('curl', '--silent', 'http://127.0.0.1:4318/received'),
    ) as Received;
  }
}
