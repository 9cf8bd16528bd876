import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isCode, messageOf, SvcError } from '@svc/shared/errors.ts';
import { createNatsKey, type NatsKey, natsKeyOf } from '@svc/shared/nats/keys.ts';
import { lockFile } from '@svc/shared/process/file-lock.ts';
import { isRegionId, type Region } from '@svc/shared/regions.ts';
import { Secret } from '@svc/shared/secret.ts';
import { UsageError } from '../command.ts';
import { removeDrafts, replaceFile, syncFolder } from '../replace-file.ts';
import {
  ACCOUNTS_FILE,
  accountsBlock,
  checkConfiguration,
  removeCheckedDrafts,
  type ServerOptions,
  serverConfiguration,
} from './configuration.ts';
import {
  keysOf,
  type NatsState,
  natsState,
  type Part,
  type PartKeys,
  partsOf,
  regionsOf,
  withKeys,
  withoutRegion,
} from './state.ts';

const STATE_FILE = 'regions.json';
/** Suffix of the file with a part's new key, until the new key replaces the former one. */
const NEXT = '.next';
/**
 * Mode of the files that the server reads. The server may run as
 * another user. The files contain only the public halves of keys.
 */
const OF_THE_SERVER = 0o644;
const ACCOUNTS_HEADER = '# Written by "svc region". Do not change it here: the next call would replace it.';

/** The settings that `region init` chooses, in addition to the accounts. */
export type Initial = {
  readonly server: ServerOptions;
  readonly url: string;
  readonly ca: string | null;
};

/**
 * The folder with the configuration of the NATS server:
 * keys, accounts, and the state from which they are made.
 *
 * Every file is replaced as a whole. The order of the writes ensures that
 * a crash or a full disk neither loses a key nor restores a removed key:
 *
 * - A new key is first written beside the former key. Then the files that name
 *   the new key are written. Finally, the new key replaces the former one.
 * - When a region is removed, the file of its key is deleted first.
 *
 * If a call is interrupted, the next call completes it.
 * The server itself learns of a change only by a reload.
 */
export class NatsFolder {
  readonly path: string;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #unlock: () => void;
  #state: NatsState | null;

  private constructor(
    path: string,
    environment: NodeJS.ProcessEnv,
    unlock: () => void,
    state: NatsState | null,
  ) {
    this.path = path;
    this.#environment = environment;
    this.#unlock = unlock;
    this.#state = state;
  }

  /**
   * Opens the folder and locks it for this process. The folder is created when it is missing.
   *
   * @throws UsageError when a file in it cannot be read
   * @throws SvcError `data-folder` when the folder cannot be created or locked
   */
  static async open(path: string, environment: NodeJS.ProcessEnv): Promise<NatsFolder> {
    const unlock = await locked(path);
    try {
      const folder = new NatsFolder(path, environment, unlock, await readState(join(path, STATE_FILE)));
      await folder.#completeKeys();
      return folder;
    } catch (error) {
      unlock();
      throw error;
    }
  }

  close(): void {
    this.#unlock();
  }

  get isInitialised(): boolean {
    return this.#state !== null;
  }

  get state(): NatsState {
    if (this.#state === null) throw new UsageError(`${this.path} has no ${STATE_FILE}: call "region init"`);
    return this.#state;
  }

  seedFileOf(part: Part): string {
    return join(this.path, isRegionId(part) ? `agent-${part}.nk` : `${part}.nk`);
  }

  /**
   * The seed of the part's present key.
   *
   * @throws UsageError when its file is missing or cannot be read
   */
  async seedOf(part: Part): Promise<Secret> {
    const advice = `"region rotate ${part}" makes another one`;
    const file = this.seedFileOf(part);
    const key = await readKey(file).catch((error: unknown) => {
      throw new UsageError(`${messageOf(error)}; ${advice}`, { cause: error });
    });
    if (key === null) throw new UsageError(`${file} is missing, and with it the key of ${part}; ${advice}`);
    return key.seed;
  }

  /**
   * The seed of the part's present key. Null when its file is missing or cannot be read.
   *
   * @param warn receives the reason when there is no seed
   */
  async findSeed(part: Part, warn: (line: string) => void): Promise<Secret | null> {
    try {
      return await this.seedOf(part);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      warn(error.message);
      return null;
    }
  }

  /**
   * Writes the server's configuration. Keys and regions that the folder has stay as they are.
   *
   * @returns path of the configuration
   */
  async initialise({ server, url, ca }: Initial): Promise<string> {
    const file = server.cluster === null ? 'nats.conf' : `nats-${server.cluster.serverName}.conf`;
    const { listen, pidFile } = server;
    // A single server may replace a cluster, and a cluster may replace a single server.
    const others = server.cluster === null ? {} : { ...this.#state?.servers };
    delete others['nats.conf'];
    const known = this.#state ?? (await this.#adopted());
    const state = { ...known, url, ca, servers: { ...others, [file]: { listen, pidFile } } };
    await this.#apply(state, { file, text: serverConfiguration(server) });
    return join(this.path, file);
  }

  /**
   * Makes the region's account and key if they are missing.
   *
   * @returns whether a key was added to the accounts: the account or the file of its key was missing
   */
  async addRegion(region: Region): Promise<boolean> {
    const known = keysOf(this.state, region);
    const { publicKey } = await this.#keyIn(region);
    const isNew = known?.key !== publicKey;
    // The file of the former key may be lost, while agents still use that key.
    const keys = { key: publicKey, former: known?.former ?? known?.key ?? null, since: Date.now() };
    // The state is applied even when nothing is new, because an earlier call may have been interrupted.
    await this.#apply(isNew ? withKeys(this.state, region, keys) : this.state);
    return isNew;
  }

  /**
   * Gives the part a new key. The former key stays valid until {@link finish} is
   * called. If a rotation has begun already, it continues. No further
   * key is made then, unless the file of the new key is lost.
   *
   * @param isLeaked whether the former key must become invalid now; a new key is then made in any case
   * @returns whether a new key was made
   */
  async rotate(part: Part, isLeaked: boolean): Promise<boolean> {
    const known = this.#known(part);
    const file = this.seedFileOf(part);
    if (known.former !== null && !isLeaked && (await readKey(file, true)) !== null) {
      await this.#apply(this.state);
      return false;
    }
    const made = createNatsKey();
    await replaceFile(`${file}${NEXT}`, `${made.seed.reveal()}\n`);
    const former = isLeaked ? null : (known.former ?? known.key);
    await this.#apply(withKeys(this.state, part, { key: made.publicKey, former, since: Date.now() }));
    await rename(`${file}${NEXT}`, file);
    await syncFolder(this.path);
    return true;
  }

  /**
   * Makes the part's former key invalid.
   *
   * @returns whether there was a former key
   */
  async finish(part: Part): Promise<boolean> {
    const known = this.#known(part);
    await this.#apply(withKeys(this.state, part, { ...known, former: null }));
    return known.former !== null;
  }

  /**
   * Removes the region's account and key.
   *
   * @returns whether the region had an account
   */
  async remove(region: Region): Promise<boolean> {
    const isThere = keysOf(this.state, region) !== undefined;
    await rm(this.seedFileOf(region), { force: true });
    // The state is applied even when the region was not there, because an earlier call may have been
    // interrupted.
    await this.#apply(withoutRegion(this.state, region));
    return isThere;
  }

  /** @throws UsageError when the part has no account */
  #known(part: Part): PartKeys {
    const known = keysOf(this.state, part);
    if (known === undefined)
      throw new UsageError(
        `there is no account of ${part}: "region list" shows those that are there, "region add ${part}" makes it`,
      );
    return known;
  }

  /**
   * Completes an interrupted rotation. A new key that the state names replaces the former key
   * in its file. A new key that the state does not name was never given out, and is dropped.
   *
   * A file may hold another key than the state, because one of them came from a backup. The
   * key in the file then becomes the part's key. The former key of the state, or else its
   * key, stays valid beside it from the next change on, because either key may be in use.
   */
  async #completeKeys(): Promise<void> {
    for (const part of this.#state === null ? [] : partsOf(this.#state)) {
      const file = this.seedFileOf(part);
      const next = await readKey(`${file}${NEXT}`, true);
      if (next !== null && next.publicKey === keysOf(this.state, part)?.key) {
        await rename(`${file}${NEXT}`, file);
        await syncFolder(this.path);
      } else await rm(`${file}${NEXT}`, { force: true });
      const held = await readKey(file, true);
      const known = this.#known(part);
      if (held === null || held.publicKey === known.key) continue;
      const former = known.former === held.publicKey ? known.key : (known.former ?? known.key);
      this.#state = withKeys(this.state, part, { key: held.publicKey, former, since: Date.now() });
    }
  }

  /**
   * The state for a folder without a state. It takes over the keys
   * that a killed command has left, and otherwise makes new keys.
   */
  async #adopted(): Promise<NatsState> {
    const keysIn = async (part: Part) => ({
      key: (await this.#keyIn(part)).publicKey,
      former: null,
      since: Date.now(),
    });
    const [coordinator, system] = [await keysIn('coordinator'), await keysIn('system')];
    const regions: NatsState['regions'] = {};
    for (const name of await readdir(this.path)) {
      const region = /^agent-(.+)\.nk$/.exec(name)?.[1] ?? '';
      if (isRegionId(region)) regions[region] = await keysIn(region);
    }
    return { v: 1, url: '', ca: null, servers: {}, coordinator, system, regions };
  }

  /** The key in the part's file. If the file is missing, it is created with a new key. */
  async #keyIn(part: Part): Promise<NatsKey> {
    const known = await readKey(this.seedFileOf(part));
    if (known !== null) return known;
    const made = createNatsKey();
    await replaceFile(this.seedFileOf(part), `${made.seed.reveal()}\n`);
    return made;
  }

  /**
   * Checks the configuration that follows from the state, and writes it.
   * If the server would refuse the configuration, nothing is written.
   */
  async #apply(state: NatsState, server: { file: string; text: string } | null = null): Promise<void> {
    const accounts = `${ACCOUNTS_HEADER}\n${accountsOf(state)}`;
    const configurations = new Map<string, string>();
    for (const file of Object.keys(state.servers)) {
      const text = server?.file === file ? server.text : await textIn(join(this.path, file));
      if (text !== null) configurations.set(file, text);
    }
    await checkConfiguration(this.path, configurations, accounts, this.#environment);
    if (server !== null) await replaceFile(join(this.path, server.file), server.text, OF_THE_SERVER);
    await replaceFile(join(this.path, STATE_FILE), `${JSON.stringify(state, null, 2)}\n`);
    await replaceFile(join(this.path, ACCOUNTS_FILE), accounts, OF_THE_SERVER);
    this.#state = state;
  }
}

function accountsOf(state: NatsState): string {
  const valid = (part: Part): string[] => {
    const keys = keysOf(state, part);
    return keys === undefined ? [] : [keys.key, ...(keys.former === null ? [] : [keys.former])];
  };
  return accountsBlock({
    coordinator: valid('coordinator'),
    system: valid('system'),
    agents: new Map(regionsOf(state).map((region) => [region, valid(region)])),
  });
}

/**
 * Locks the folder, and creates it when it is missing. Drafts that killed calls have left are removed.
 *
 * @throws SvcError `data-folder` when the folder cannot be created or locked
 */
async function locked(path: string): Promise<() => void> {
  let unlock: (() => void) | null;
  try {
    await mkdir(path, { recursive: true, mode: 0o755 });
    unlock = lockFile(join(path, 'regions.lock'));
  } catch (error) {
    throw new SvcError(
      'data-folder',
      `cannot write to ${path}: ${messageOf(error)}; call "svc region" as the user who owns the folder`,
      { cause: error },
    );
  }
  if (unlock === null) {
    throw new SvcError(
      'data-folder',
      `another "svc region" changes ${path} now: try again when it has ended`,
    );
  }
  await removeDrafts(path, (name) => /\.(?:nk|next|conf|json)$/.test(name), Number.POSITIVE_INFINITY);
  await removeCheckedDrafts(path);
  return unlock;
}

async function readState(path: string): Promise<NatsState | null> {
  const text = await textIn(path);
  if (text === null) return null;
  try {
    return natsState.parse(JSON.parse(text));
  } catch (error) {
    throw new UsageError(`${path} cannot be read: take it from a backup, or remove it to begin anew`, {
      cause: error,
    });
  }
}

/**
 * Reads a key; null when the file is missing.
 *
 * @param isLenient whether a file without a key counts as
 *   missing; the fault is then reported when the key is needed
 * @throws UsageError when the file cannot be read or, unless `isLenient`, contains no key
 */
async function readKey(path: string, isLenient = false): Promise<NatsKey | null> {
  const text = await textIn(path);
  if (text === null) return null;
  try {
    return natsKeyOf(new Secret(text));
  } catch (error) {
    if (isLenient) return null;
    throw new UsageError(`${resolve(path)}: ${messageOf(error)}`, { cause: error });
  }
}

async function textIn(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null;
    throw new UsageError(`cannot read ${path}: ${messageOf(error)}`, { cause: error });
  }
}
