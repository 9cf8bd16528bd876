import { createHook } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import { readdirSync, readlinkSync } from 'node:fs';
import type { Server } from 'node:net';
import { isAbsolute } from 'node:path';
import type { Worker } from 'node:worker_threads';

/** A resource that a test file left open. `stack` has the frames that made it, innermost first. */
export type Left = { readonly name: string; readonly stack: readonly string[] };

type Made = { readonly name: () => string; readonly isOpen: () => boolean; readonly made: Error };

/** A handle or timer by its id of `async_hooks`. */
type Key = number | Worker | Server;

/** A handle of libuv, as `async_hooks` gives it. */
type Handle = {
  hasRef?(): boolean;
  getsockname?(out: object): number;
  getpeername?(out: object): number;
};
type Address = { address?: string; port?: number };

/** Types of `async_hooks` for which `destroy` is called as soon as the handle is closed. */
const HANDLES: Readonly<Record<string, string>> = {
  TCPWRAP: 'a TCP connection',
  PIPEWRAP: 'a pipe or local connection',
  UDPWRAP: 'a UDP socket',
  PROCESSWRAP: 'a child process',
  FSEVENTWRAP: 'a watcher of files',
  STATWATCHER: 'a watcher of a file',
  SIGNALWRAP: 'a listener for a signal',
  MESSAGEPORT: 'a message port',
};

/** Number of frames that are kept. The innermost frames are Node's own. */
const FRAMES = 30;
/**
 * Number of frames that are kept for a timer. It is smaller, because there are many timers, and
 * recording the frames takes a large part of a timer's cost. Few frames of Node make a timer.
 */
const FRAMES_OF_TIMER = 16;

/**
 * The resources that this process opens and does not close: handles (also those that keep no
 * process alive), timers that keep it alive, threads, and files by their descriptors. Resources
 * that existed at the start, and those that only wait for the garbage collector, do not count.
 */
export class OpenResources {
  readonly #made = new Map<Key, Made>();
  #notify: () => void = () => {};

  constructor() {
    createHook({
      // Promises are not tracked, because there are many, and they are not resources.
      trackPromises: false,
      init: (id, type, _trigger, resource) => this.#init(id, type, resource),
      destroy: (id) => this.#closed(id),
    }).enable();
    subscribe('worker_threads', (message) => this.#thread((message as { worker: Worker }).worker));
    // The handles of these servers are made later, with stacks that do not show the caller.
    subscribe('tracing:net.server.listen:asyncStart', (message) =>
      this.#server((message as { server: Server }).server),
    );
  }

  /** The resources that are open now, for {@link leftSince}. */
  now(): Set<unknown> {
    return new Set<unknown>([...this.#made.keys(), ...openFiles()]);
  }

  /**
   * Returns the resources that were opened since `before` and are not closed
   * within `graceMs`. The end of a connection takes time to reach the other side.
   */
  async leftSince(before: ReadonlySet<unknown>, graceMs: number): Promise<Left[]> {
    const until = performance.now() + graceMs;
    for (;;) {
      const left = this.#left(before);
      if (left.length === 0 || performance.now() >= until) return left;
      await this.#change();
    }
  }

  #left(before: ReadonlySet<unknown>): Left[] {
    const handles = [...this.#made]
      .filter(([key, { isOpen }]) => !before.has(key) && isOpen())
      .map(([, { name, made }]) => ({ name: name(), stack: ownFrames(made) }))
      .filter(({ stack }) => !isOfTheRunner(stack));
    const files = openFiles().filter((file) => !before.has(file));
    return [...handles, ...files.map((file) => ({ name: `the open file ${file}`, stack: [] }))];
  }

  /** Resolves when something is closed; closing a file gives no signal. */
  #change(): Promise<void> {
    return new Promise((resolve) => {
      const look = setTimeout(resolve, 20);
      look.unref();
      this.#notify = resolve;
    });
  }

  #init(id: number, type: string, resource: object): void {
    if (type === 'Timeout') {
      const timer = resource as NodeJS.Timeout;
      const made = stackHere(FRAMES_OF_TIMER);
      // Node's own timers belong to a handle, which is seen.
      const isOpen = () => timer.hasRef() && ownFrames(made).length > 0;
      this.#made.set(id, { name: () => 'a timer', isOpen, made });
      return;
    }
    const kind = HANDLES[type];
    if (kind === undefined) return;
    const made = stackHere();
    const name = () => `${kind}${ends(resource as Handle)}`;
    this.#made.set(id, { name, isOpen: () => !isOfThread(made), made });
  }

  #thread(worker: Worker): void {
    const name = () => `the thread ${worker.threadName ?? ''} (${worker.threadId})`;
    this.#made.set(worker, { name, isOpen: () => true, made: stackHere() });
    worker.once('exit', () => this.#closed(worker));
  }

  #server(server: Server): void {
    const name = () => `a listening server (${JSON.stringify(server.address())})`;
    this.#made.set(server, { name, isOpen: () => server.listening, made: stackHere() });
    server.once('close', () => this.#closed(server));
  }

  #closed(key: Key): void {
    if (this.#made.delete(key)) this.#notify();
  }
}

/** Records the present stack. The stack is formatted only if it is shown. */
function stackHere(frames = FRAMES): Error {
  const before = Error.stackTraceLimit;
  Error.stackTraceLimit = frames;
  const made = new Error();
  Error.stackTraceLimit = before;
  return made;
}

/** Frames outside of Node and of this file, without those of the runner that called the test. */
function ownFrames(made: Error): string[] {
  const frames = (made.stack ?? '')
    .split('\n')
    .slice(1)
    .map((line) => line.trim().replace(/^at (async )?/, ''))
    .filter((line) => !/\(?node:/.test(line) && !line.includes('/leaks/open-resources.ts'));
  const outermost = frames.findIndex((frame, index) => index > 0 && OF_THE_RUNNER.test(frame));
  return outermost === -1 ? frames : frames.slice(0, outermost);
}

const OF_THE_RUNNER = /node_modules\/(@?vitest|tinypool|birpc)/;

/** Whether the resource belongs to the test runner: its time-outs, and its channel to the main process. */
function isOfTheRunner([innermost = '']: readonly string[]): boolean {
  return OF_THE_RUNNER.test(innermost);
}

/** Whether the resource is a port of a thread. Only the thread itself is reported. */
function isOfThread(made: Error): boolean {
  return /new Worker \(node:/.test(made.stack ?? '');
}

function ends(handle: Handle): string {
  const [own, peer] = [{}, {}] as [Address, Address];
  try {
    handle.getsockname?.(own);
    handle.getpeername?.(peer);
  } catch {
    return ''; // It has never been opened, or closes at this moment.
  }
  const shown = ({ address, port }: Address) => (address === undefined ? null : `${address} ${port}`);
  const both = [shown(own), shown(peer)].filter((end) => end !== null);
  return both.length === 0 ? '' : ` (${both.join(' to ')})`;
}

/** Open files by path; none where there is no `/proc`. */
function openFiles(): string[] {
  const folder = '/proc/self/fd';
  let descriptors: string[];
  try {
    descriptors = readdirSync(folder);
  } catch {
    return [];
  }
  return descriptors.flatMap((descriptor) => {
    try {
      const path = readlinkSync(`${folder}/${descriptor}`);
      return isAbsolute(path) && !/^\/(dev|proc|sys)\/(?!shm)/.test(path) ? [`${path} (${descriptor})`] : [];
    } catch {
      return []; // The descriptor with which the list was read.
    }
  });
}
