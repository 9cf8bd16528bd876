import { join } from 'node:path';
import { type DiskState, watchDisk } from './disk-watch.ts';
import { environmentOf } from './environments.ts';
import { guardProcess } from './guard.ts';
import { AGENT_ENVIRONMENT, AGENT_FLAGS, COORDINATOR_ENVIRONMENT, COORDINATOR_FLAGS } from './node-flags.ts';
import { isCausedByStop, type Paint, render, stillStarting } from './output.ts';
import { type End, Part, type PartCommand, type PartEvents } from './part.ts';

export type PartsOptions = {
  /** Root of the repository. */
  project: string;
  environment: NodeJS.ProcessEnv;
  paint: Paint;
  print(line: string): void;
  /** Called for each line that a process of svc logs. */
  onLog?(part: Part, line: string): void;
  /** Text behind the message that a part works again. */
  describe?(part: Part): string;
};

/** A program that is not part of svc. */
export type Server = Omit<PartCommand, 'env' | 'hasChannel'> & {
  /** Further variables of its environment. */
  readonly env?: Record<string, string>;
  /** Whether a line of its standard error is an error that people should see. */
  isError(line: string): boolean;
};

/** Interval at which a slow start reports what it waits for, ms. */
const STILL_STARTING_MS = 5_000;

/**
 * Agents drain for 2 s. Together with the other limits, all parts of `npm start` end within the 5 s that
 * Ctrl-C may take. With PostgreSQL it may be 6.2 s.
 */
const AGENT_DRAIN_MS = 2_000;

const PROGRAMS = {
  agent: {
    file: 'packages/agent/src/main.ts',
    flags: AGENT_FLAGS,
    variables: AGENT_ENVIRONMENT,
    settings: { SVC_DRAIN_MS: String(AGENT_DRAIN_MS) },
    stopWithinMs: 2_600,
  },
  coordinator: {
    file: 'packages/coordinator/src/main.ts',
    flags: COORDINATOR_FLAGS,
    variables: COORDINATOR_ENVIRONMENT,
    settings: {},
    stopWithinMs: 1_400,
  },
} as const;

/** The processes that one command runs on this machine, and the lines that it prints about them. */
export class Parts {
  readonly #options: PartsOptions;
  readonly #events: PartEvents;
  readonly #all: Part[] = [];
  readonly #servers = new Map<Part, Server>();
  /** The last line of the standard error of each part. */
  readonly #lastLines = new Map<Part, string>();
  readonly #unguard = new Map<Part, () => void>();
  #giveUp: () => void = () => {};
  #stopProgress: () => void = () => {};
  #stopWatchingDisk: () => void = () => {};
  #stopping: Promise<void> | null = null;

  constructor(options: PartsOptions) {
    this.#options = options;
    const { paint, print } = options;
    const showsAll = /^(debug|trace)$/.test(options.environment.SVC_LOG_LEVEL ?? '');
    this.#events = {
      started: (part) => {
        // svc's own processes see the end of their channel when this process is gone.
        if (this.#servers.has(part) && part.pid !== undefined)
          this.#unguard.set(part, guardProcess(part.pid));
      },
      line: (part, line) => {
        this.#lastLines.set(part, line);
        if (this.isStopping && isCausedByStop(line)) return;
        const server = this.#servers.get(part);
        if (server !== undefined && !server.isError(line)) return;
        if (server === undefined) options.onLog?.(part, line);
        const shown = render(part.name, line, paint, showsAll);
        if (shown !== null) print(shown);
      },
      ready: (part, isAgain) => {
        if (isAgain) this.#say('ok', `${part.name} works again${options.describe?.(part) ?? ''}`);
      },
      ended: (part, end, delayMs) => {
        this.#unguard.get(part)?.();
        this.#say('warn', `${part.name} ended (${end.why}); starting it again in ${delayMs / 1000} s`);
      },
      gaveUp: (part, end) => this.#gaveUp(part, end),
    };
  }

  get isStopping(): boolean {
    return this.#stopping !== null;
  }

  /** Calls `listener` when a part cannot be started at all, after the reason was printed. */
  onGiveUp(listener: () => void): void {
    this.#giveUp = listener;
  }

  /** A process of svc, which is not started yet. */
  service(kind: keyof typeof PROGRAMS, name: string, settings: Record<string, string>): Part {
    const { environment, project } = this.#options;
    const { file, flags, variables, settings: own, stopWithinMs } = PROGRAMS[kind];
    return this.#add({
      name,
      command: process.execPath,
      args: [...flags, join(project, file)],
      env: {
        ...variables,
        ...environmentOf(kind, environment),
        SVC_SUPERVISED: '1',
        // Saves each process a third of its start: measured 0.54 → 0.33 s for the coordinator.
        NODE_COMPILE_CACHE: environment.NODE_COMPILE_CACHE || join(project, 'node_modules', '.cache', 'node'),
        ...own,
        ...settings,
      },
      hasChannel: true,
      stopWithinMs,
    });
  }

  /** A server, which is not started yet. It ends when this process ends for any reason. */
  server(server: Server): Part {
    const { env, isError: _, ...command } = server;
    const part = this.#add({
      ...command,
      env: { ...environmentOf('server', this.#options.environment), ...env },
      hasChannel: false,
    });
    this.#servers.set(part, server);
    return part;
  }

  /**
   * Starts the parts at the same time. Resolves when all are ready, and at once, without a start, when the parts are
   * being stopped; never when a part gives up or a stop begins meanwhile.
   */
  async start(...parts: readonly Part[]): Promise<void> {
    // Nothing would end a part that is started after the stop has begun.
    if (this.isStopping) return;
    await this.reportWhile(Promise.all(parts.map((part) => part.start())), () => {
      const missing = parts.filter((part) => !part.isReady);
      return stillStarting(
        missing.map((part) => ({ name: part.name, lastLine: this.#lastLines.get(part) ?? null })),
      );
    });
  }

  /** Reports at intervals what a start waits for, until `waiting` has ended or a stop begins. */
  async reportWhile(waiting: Promise<unknown>, report: () => string): Promise<void> {
    const progress = setInterval(() => this.say(report()), STILL_STARTING_MS);
    this.#stopProgress = () => clearInterval(progress);
    await waiting;
    this.#stopProgress();
  }

  /** Reports a disk that fills up. NATS is started again when there is room again. */
  watchDisk(dataDir: string, natsServers: () => readonly Part[]): void {
    this.#stopWatchingDisk = watchDisk(dataDir, (state, before, freeMebibytes) => {
      this.#sayDisk(dataDir, state, freeMebibytes);
      if (before !== 'full' || state === 'full') return;
      this.#say('ok', `the disk of ${dataDir} has room again`);
      // NATS may have stopped storing results (with 2.9.10, JetStream still did not answer 40 s after there
      // was room).
      for (const nats of natsServers()) nats.restart();
    });
  }

  /** Stops one group after the other. All calls wait for the first one. */
  stop(groups: () => readonly (readonly (Pick<Part, 'stop'> | null)[])[]): Promise<void> {
    this.#stopping ??= this.#stopAll(groups());
    return this.#stopping;
  }

  kill(): void {
    for (const part of this.#all) part.kill();
  }

  /** Prints a line with the time. */
  say(line: string): void {
    this.#options.print(`${this.#clock()}  ${line}`);
  }

  async #stopAll(groups: readonly (readonly (Pick<Part, 'stop'> | null)[])[]): Promise<void> {
    this.#stopProgress();
    this.#stopWatchingDisk();
    this.#options.print('stopping …');
    for (const group of groups) await Promise.all(group.map((part) => part?.stop()));
    for (const unguard of this.#unguard.values()) unguard();
    this.#options.print('stopped');
  }

  #add(command: PartCommand): Part {
    const part = new Part(command, this.#events);
    this.#all.push(part);
    return part;
  }

  #sayDisk(dataDir: string, state: DiskState, freeMebibytes: number): void {
    if (state === 'full') {
      this.#say(
        'error',
        `the disk of ${dataDir} is full: svc cannot store results and announces nothing new until there is room`,
      );
    }
    if (state === 'low') this.#say('warn', `the disk of ${dataDir} has ${freeMebibytes} MiB left`);
  }

  #gaveUp(part: Part, end: End): void {
    this.#say('error', `${part.name} cannot start (${end.why}); see above`);
    this.#giveUp();
  }

  #say(level: 'ok' | 'warn' | 'error', text: string): void {
    const { paint } = this.#options;
    const mark = { ok: paint.green('ok   '), warn: paint.yellow('warn '), error: paint.red('error') }[level];
    this.say(`${mark} ${text}`);
  }

  #clock(): string {
    return this.#options.paint.grey(new Date().toTimeString().slice(0, 8));
  }
}
