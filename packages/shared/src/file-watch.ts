import { type FSWatcher, watch } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from './clock.ts';
import { messageOf } from './errors.ts';
import type { Logger } from './log.ts';

/** ms that files must stay as they are before a change is told. */
const SETTLE_MS = 500;

/** ms between looks at the files where events do not come: network file systems, folders put in place of others. */
const POLL_MS = 5_000;

/**
 * Tells when one of a few files changed, was replaced or went. It watches the folders they are in, not
 * the files, and compares what is found at their paths: this survives editors that rename a new file
 * into place and Kubernetes, which swaps a symbolic link to a folder.
 */
export class FileWatch {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #onChange: () => void;
  readonly #folders = new Map<string, FSWatcher>();
  /** State of each file as it was last known. */
  #seen: ReadonlyMap<string, string> = new Map();
  #isUnsettled = false;
  #isLooking = false;
  #isClosed = false;
  #cancelLook: (() => void) | null = null;
  #cancelPoll: () => void;

  /** @param onChange called some time after a change, once for all that changed together */
  constructor(clock: Clock, log: Logger, onChange: () => void) {
    this.#clock = clock;
    this.#log = log;
    this.#onChange = onChange;
    this.#cancelPoll = clock.every(POLL_MS, () => this.#lookSoon());
  }

  /** The files from now on. Their state is taken as known: to be called before they are read. */
  async expect(paths: readonly string[]): Promise<void> {
    await this.#take(await statesOf(paths));
  }

  /** Further files, found while reading; what is known of the others stays. */
  async add(paths: readonly string[]): Promise<void> {
    const added = await statesOf(paths.filter((path) => !this.#seen.has(path)));
    await this.#take(new Map([...this.#seen, ...added]));
  }

  async #take(states: ReadonlyMap<string, string>): Promise<void> {
    const folders = await foldersOf([...states.keys()]);
    if (this.#isClosed) return;
    this.#seen = states;
    for (const [folder, watcher] of this.#folders) {
      if (folders.has(folder)) continue;
      watcher.close();
      this.#folders.delete(folder);
    }
    for (const folder of folders) if (!this.#folders.has(folder)) this.#watch(folder);
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelPoll();
    this.#cancelLook?.();
    for (const watcher of this.#folders.values()) watcher.close();
    this.#folders.clear();
  }

  #watch(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#lookSoon());
      watcher.on('error', (error) => this.#unwatchable(folder, error));
      this.#folders.set(folder, watcher);
    } catch (error) {
      this.#unwatchable(folder, error);
    }
  }

  /** The poll goes on without it. */
  #unwatchable(folder: string, error: unknown): void {
    this.#log.debug({ folder, reason: messageOf(error) }, 'folder cannot be watched: looking every 5 s');
    this.#folders.get(folder)?.close();
    this.#folders.delete(folder);
  }

  /** At most one look per settling time, so that a busy folder costs nothing. */
  #lookSoon(): void {
    if (this.#isClosed || this.#cancelLook !== null) return;
    this.#cancelLook = this.#clock.after(SETTLE_MS, () => {
      this.#cancelLook = null;
      void this.#look();
    });
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const known = this.#seen;
    // Never rejects: what cannot be looked at is a state as well.
    const states = await statesOf([...known.keys()]);
    this.#isLooking = false;
    // Whoever gave other files meanwhile is about to read them.
    if (this.#isClosed || known !== this.#seen) return;
    if ([...states].some(([path, state]) => known.get(path) !== state)) {
      this.#seen = states;
      this.#isUnsettled = true;
      this.#lookSoon();
    } else if (this.#isUnsettled) {
      this.#isUnsettled = false;
      this.#onChange();
    }
  }
}

/** What is found at the paths: changes whenever the files do. */
async function statesOf(paths: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const states = paths.map(async (path): Promise<[string, string]> => {
    try {
      const { ino, size, mtimeMs, ctimeMs } = await stat(path);
      return [path, [await realpath(path), ino, size, mtimeMs, ctimeMs].join(' ')];
    } catch {
      return [path, 'none'];
    }
  });
  return new Map(await Promise.all(states));
}

/** Folders of the paths, and of where they really are. */
async function foldersOf(paths: readonly string[]): Promise<ReadonlySet<string>> {
  const real = await Promise.all(paths.map((path) => realpath(path).catch(() => path)));
  return new Set([...paths, ...real].map((path) => dirname(path)));
}
