import { type FSWatcher, watch } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '../clock.ts';
import { messageOf } from '../errors.ts';
import type { Logger } from '../log.ts';

/** Files must stay unchanged for this long before a change is reported, ms. */
const SETTLE_MS = 500;

/**
 * Interval at which the files are compared even without an event, ms. Network file systems, and folders that
 * replace other folders, cause no events.
 */
const POLL_MS = 5_000;

/**
 * Reports when one of a few files changed, appeared, was replaced or vanished.
 *
 * It watches the folders of the files and compares the states of the files at their paths. This works with
 * editors that rename a new file into place, and with Kubernetes, which swaps a symbolic link to a folder.
 */
export class FileWatch {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #onChange: () => void;
  readonly #folders = new Map<string, FSWatcher>();
  /** The last known state of each file. */
  #seen: ReadonlyMap<string, string> = new Map();
  #isUnsettled = false;
  #isLooking = false;
  #isClosed = false;
  #cancelLook: (() => void) | null = null;
  #cancelPoll: () => void;

  /**
   * @param onChange called once after one or more changes, when the files have then stayed unchanged for
   *   {@link SETTLE_MS}
   */
  constructor(clock: Clock, log: Logger, onChange: () => void) {
    this.#clock = clock;
    this.#log = log;
    this.#onChange = onChange;
    this.#cancelPoll = clock.every(POLL_MS, () => this.#compareSoon());
  }

  /**
   * Replaces the list of watched files. The present state of the files counts as known, so call this
   * function before you read them.
   */
  async watchFiles(paths: readonly string[]): Promise<void> {
    await this.#replaceStates(await statesOf(paths));
  }

  /** Adds files that were found while reading. The known state of the other files is kept. */
  async addFiles(paths: readonly string[]): Promise<void> {
    const added = await statesOf(paths.filter((path) => !this.#seen.has(path)));
    await this.#replaceStates(new Map([...this.#seen, ...added]));
  }

  async #replaceStates(states: ReadonlyMap<string, string>): Promise<void> {
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
      const watcher = watch(folder, { persistent: false }, () => this.#compareSoon());
      watcher.on('error', (error) => this.#dropWatcher(folder, error));
      this.#folders.set(folder, watcher);
    } catch (error) {
      this.#dropWatcher(folder, error);
    }
  }

  /** Continues without the watcher of the folder. The poll still compares the files. */
  #dropWatcher(folder: string, error: unknown): void {
    this.#log.debug(
      { folder, reason: messageOf(error) },
      'cannot watch the folder: svc looks at it every 5 s',
    );
    this.#folders.get(folder)?.close();
    this.#folders.delete(folder);
  }

  /** Schedules one comparison per settling time at most, so that a busy folder costs nothing. */
  #compareSoon(): void {
    if (this.#isClosed || this.#cancelLook !== null) return;
    this.#cancelLook = this.#clock.after(SETTLE_MS, () => {
      this.#cancelLook = null;
      void this.#compareStates();
    });
  }

  async #compareStates(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const known = this.#seen;
    // This call never rejects: an unreadable file has a state too.
    const states = await statesOf([...known.keys()]);
    this.#isLooking = false;
    // If a caller has set other files in the meantime, it is about to read them.
    if (this.#isClosed || known !== this.#seen) return;
    if ([...states].some(([path, state]) => known.get(path) !== state)) {
      this.#seen = states;
      this.#isUnsettled = true;
      this.#compareSoon();
    } else if (this.#isUnsettled) {
      this.#isUnsettled = false;
      this.#onChange();
    }
  }
}

/** The state of each path. A state changes whenever the file at its path changes. */
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

/** The folders of the paths, and the folders of the files that symbolic links there lead to. */
async function foldersOf(paths: readonly string[]): Promise<ReadonlySet<string>> {
  const real = await Promise.all(paths.map((path) => realpath(path).catch(() => path)));
  return new Set([...paths, ...real].map((path) => dirname(path)));
}
