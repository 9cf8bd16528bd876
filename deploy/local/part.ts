import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { isReadyMessage } from '@svc/shared/process/service-process.ts';

/**
 * The end of a part. `why`: `exit code 1`, `signal SIGKILL`, or the reason why it could not be started.
 * `code`: the exit code; null: a signal ended it.
 */
export type End = { why: string; code: number | null };

export type PartEvents = {
  /** A process was started, for the first time or again. */
  started(part: Part): void;
  /** The part is ready; `isAgain` after a restart. */
  ready(part: Part, isAgain: boolean): void;
  /** One line of its standard error. */
  line(part: Part, line: string): void;
  /** It ended unexpectedly, and is started again after `delayMs`. */
  ended(part: Part, end: End, delayMs: number): void;
  /**
   * It ended unexpectedly, with an exit code other than 0, before it was ever ready: another start would not
   * help.
   */
  gaveUp(part: Part, end: End): void;
};

export type PartCommand = {
  name: string;
  command: string;
  args: readonly string[];
  env: Record<string, string>;
  /**
   * Node children get an IPC channel. They report over it that they are ready, and its end shows them that
   * the supervisor is gone.
   */
  hasChannel: boolean;
  /** Whether a line of standard error says that the part is ready; only for a part without a channel. */
  isReadyLine?(line: string): boolean;
  /** The folder in which the program starts; left out: that of this process. */
  cwd?: string;
  /** The user who runs the program; left out: the user of this process. */
  user?: { readonly uid: number; readonly gid: number };
  /** The signal that ends the program; left out: SIGTERM. */
  stopSignal?: NodeJS.Signals;
  /** Time from that signal until it is killed, ms. */
  stopWithinMs: number;
};

const FIRST_RESTART_MS = 250;
const LONGEST_RESTART_MS = 10_000;
/** A part that ran for this time, ms, was healthy: after its next failure the back-off starts again. */
const WELL_AFTER_MS = 10_000;

/**
 * One child process that is kept running. When it dies, it is restarted after a wait, which grows with each
 * restart up to 10 s. It is given up if it fails before it was ever ready. {@link Part.stop} ends it for
 * good.
 *
 *     idle → running → (died) → waiting → running → … → stopped
 *
 * The process runs in a session of its own, so that Ctrl-C in the terminal reaches only the supervisor, which
 * then stops the parts in order.
 */
export class Part {
  readonly name: string;
  readonly #command: PartCommand;
  readonly #events: PartEvents;
  #child: ChildProcess | null = null;
  #restart: NodeJS.Timeout | null = null;
  #restarts = 0;
  #isStopping = false;
  #wasReady = false;
  #isReady = false;
  #ready = Promise.withResolvers<void>();

  constructor(command: PartCommand, events: PartEvents) {
    this.name = command.name;
    this.#command = command;
    this.#events = events;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Whether the present process has reported that it is ready. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** Resolves when the part is ready for the first time; never when it gives up or is stopped before that. */
  start(): Promise<void> {
    this.#spawn();
    return this.#ready.promise;
  }

  /** Sends the stop signal, and SIGKILL when that takes too long. Resolves when the process is gone. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    if (this.#restart !== null) clearTimeout(this.#restart);
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(this.#command.stopSignal ?? 'SIGTERM');
    const deadline = setTimeout(() => child.kill('SIGKILL'), this.#command.stopWithinMs);
    await ended;
    clearTimeout(deadline);
  }

  /** Kills the present process. It is started again as after a crash. */
  restart(): void {
    this.#child?.kill('SIGKILL');
  }

  kill(): void {
    this.#isStopping = true;
    this.#child?.kill('SIGKILL');
  }

  #spawn(): void {
    const { command, args, env, hasChannel, cwd, user } = this.#command;
    const startedAt = performance.now();
    const child = spawn(command, args, {
      env,
      cwd,
      ...user,
      detached: true,
      stdio: hasChannel ? ['ignore', 'inherit', 'pipe', 'ipc'] : ['ignore', 'ignore', 'pipe'],
    });
    this.#child = child;
    this.#events.started(this);
    child.on('message', (message) => {
      if (isReadyMessage(message)) this.#nowReady();
    });
    if (child.stderr) createInterface({ input: child.stderr }).on('line', (line) => this.#line(line));
    let failure: End | null = null;
    child.once('error', (error) => {
      failure = { why: error.message, code: 1 };
    });
    // Not `exit`: at `close` all its output has been read. `close` comes after `error` too.
    child.once('close', (code, signal) => {
      const why = signal === null ? `exit code ${code}` : `signal ${signal}`;
      this.#ended(failure ?? { why, code }, startedAt);
    });
  }

  #line(line: string): void {
    this.#events.line(this, line);
    if (this.#command.isReadyLine?.(line)) this.#nowReady();
  }

  #nowReady(): void {
    if (this.#isReady) return;
    this.#isReady = true;
    this.#events.ready(this, this.#wasReady);
    this.#wasReady = true;
    this.#ready.resolve();
  }

  #ended(end: End, startedAt: number): void {
    this.#isReady = false;
    if (this.#isStopping) return;
    if (!this.#wasReady && end.code !== null && end.code !== 0) {
      this.#isStopping = true;
      this.#events.gaveUp(this, end);
      return;
    }
    if (performance.now() - startedAt >= WELL_AFTER_MS) this.#restarts = 0;
    const delayMs = Math.min(FIRST_RESTART_MS * 2 ** this.#restarts, LONGEST_RESTART_MS);
    this.#restarts += 1;
    this.#events.ended(this, end, delayMs);
    this.#restart = setTimeout(() => this.#spawn(), delayMs);
  }
}
