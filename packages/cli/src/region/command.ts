import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isCode, messageOf, SvcError } from '@svc/shared/errors.ts';
import {
  isFixedRegion,
  isOwnRegionId,
  isRegionId,
  REGIONS,
  type Region,
  regionTexts,
} from '@svc/shared/regions.ts';
import type { Secret } from '@svc/shared/secret.ts';
import { describeSettings, readEnvironment } from '@svc/shared/settings/environment.ts';
import { OWN_REGIONS_SETTING } from '@svc/shared/settings/own-regions.ts';
import { nearest } from '@svc/shared/text/nearest.ts';
import { CLI_SETTINGS } from '../cli-settings.ts';
import { type Command, runOf, type Surroundings, UsageError } from '../command.ts';
import { describeOptions, parseOptions } from '../options.ts';
import { requireWritable, userPath, writeNewFile } from '../write-file.ts';
import { NatsFolder } from './folder.ts';
import { INIT, initialOf } from './init.ts';
import { type KeyState, keyStates, tableOf } from './key-states.ts';
import { type ReloadSign, reloadServers } from './reload.ts';
import { keysOf, type Part } from './state.ts';

const FOLDER = {
  'nats-dir': {
    value: 'DIR',
    description: 'folder of the NATS configuration and its keys, instead of SVC_NATS_DIR',
  },
} as const;
const SETTINGS = { natsDir: CLI_SETTINGS.natsDir, dataDir: CLI_SETTINGS.dataDir };
const ENV_FILE = {
  'env-file': {
    value: 'FILE',
    description: 'write the settings to this file, which only its owner may read',
  },
  force: { description: 'replace the file; with --finish: cut off who still uses the former key' },
} as const;
const WITH_FOLDER = { init: { ...INIT, ...ENV_FILE, ...FOLDER }, add: { ...ENV_FILE, ...FOLDER } } as const;
const LIST = { json: { description: 'write JSON' }, ...FOLDER } as const;
const ROTATE = {
  finish: { description: 'end the rotation: the former key is refused from now on' },
  now: {
    description:
      'refuse the former key at once, because it got out: agents are cut off until they have the new one',
  },
  ...ENV_FILE,
  ...FOLDER,
} as const;

export const regionCommand: Command = {
  help: `Usage: npm run svc -- region init [options]
       npm run svc -- region add REGION [options]
       npm run svc -- region list [--json]
       npm run svc -- region rotate REGION|coordinator|system [--finish|--now] [options]
       npm run svc -- region remove REGION

init writes the configuration of the NATS server, with the accounts of the coordinator and of the regions that are there, and prints
the coordinator's settings. Call it again to change the configuration: keys and regions stay.

add makes an account and a key for the region, whose agents then reach their own jobs and results only, and prints the settings of an
agent there. For a region that is there it prints them again. Without an init before, it begins with a server on loopback.

list shows each key and how many connections use it. It takes the names of your own regions from SVC_EXTRA_REGIONS.

rotate gives a new key and prints the settings. The former key works beside it until "rotate REGION --finish", which refuses while an
agent still uses it (--force ends it nevertheless). Nothing ends it by itself. As long as no client uses the new key, rotate prints the
same settings again.

remove takes the account away: agents with its key are cut off.

Each of them reloads the NATS server where its process runs on this machine, and otherwise prints the command. The configuration is
checked before. The folder is needed for the next change: back it up like a key.

Options of init:
${describeOptions({ ...INIT, ...ENV_FILE })}

Options of rotate:
${describeOptions({ finish: ROTATE.finish, now: ROTATE.now, ...ENV_FILE })}

Options of all:
${describeOptions(FOLDER)}

Settings, from the environment:
${describeSettings({ ...SETTINGS, ...OWN_REGIONS_SETTING })}
`,
  run: runOf('region', { init, add, list, rotate, remove }),
};

type Files = { readonly 'nats-dir'?: string; readonly 'env-file'?: string; readonly force?: true };

async function init(args: readonly string[], surroundings: Surroundings): Promise<void> {
  const given = parseOptions(args, WITH_FOLDER.init);
  await withFolder(given, surroundings, async (folder) => {
    await requirePlace(given, surroundings);
    // The settings that are written at the end contain this key.
    if (folder.isInitialised) await folder.seedOf('coordinator');
    const path = (text: string): string => userPath(text, surroundings.environment);
    const file = await folder.initialise(initialOf(given, folder.path, path));
    surroundings.err.write(`svc: wrote ${file}\n`);
    await tellSettings(folder, 'coordinator', given, surroundings);
    await reload(folder, null, surroundings);
  });
}

async function add(args: readonly string[], surroundings: Surroundings): Promise<void> {
  const [regions, options] = partsIn(args, A_REGION);
  const given = parseOptions(options, WITH_FOLDER.add);
  if (given['env-file'] !== undefined && regions.length > 1)
    throw new UsageError('--env-file holds the settings of one region: add the regions one by one');
  await withFolder(given, surroundings, async (folder) => {
    await requirePlace(given, surroundings);
    await beginOnLoopback(folder, surroundings);
    for (const region of regions) {
      const isNew = await folder.addRegion(region);
      surroundings.err.write(`svc: ${region} ${isNew ? 'has an account and a key' : 'is there already'}\n`);
      if (!isFixedRegion(region))
        surroundings.err.write(
          `svc: ${region} is a region of your own: each coordinator needs it in SVC_EXTRA_REGIONS\n`,
        );
    }
    for (const region of regions) await tellSettings(folder, region, given, surroundings);
    const [last = 'coordinator'] = regions.slice(-1);
    await reload(folder, { seed: await folder.seedOf(last), isAccepted: true }, surroundings);
    // Whoever names the folder means another server.
    if (given['nats-dir'] === undefined) noteOtherServer(regions, surroundings);
  });
}

/** Says that the server of `npm start` has other access, if the data folder has such a server. */
function noteOtherServer(regions: readonly Region[], { environment, err }: Surroundings): void {
  const { dataDir } = readEnvironment(SETTINGS, environment).values;
  const urlFile = userPath(join(dataDir, 'nats.url'), environment);
  if (!existsSync(urlFile)) return;
  const agents = regions.map((region) => `"SVC_NATS_URL_FILE=${urlFile} SVC_REGION=${region} npm run agent"`);
  err.write(
    `svc: the NATS server that npm start runs does not have these keys, and an agent beside it needs none: start it with ${agents.join(', ')}\n`,
  );
}

async function beginOnLoopback(folder: NatsFolder, surroundings: Surroundings): Promise<void> {
  if (folder.isInitialised) return;
  const file = await folder.initialise(initialOf({}, folder.path, (text) => text));
  surroundings.err.write(
    `svc: wrote ${file} of a server on loopback; "region init" makes one for agents on other machines\n`,
  );
  await tellSettings(folder, 'coordinator', {}, surroundings);
}

async function list(args: readonly string[], surroundings: Surroundings): Promise<void> {
  const given = parseOptions(args, LIST);
  const { extraRegions } = readEnvironment(OWN_REGIONS_SETTING, surroundings.environment).values;
  await withFolder(given, surroundings, async (folder) => {
    const states = await keyStatesOf(folder, surroundings);
    surroundings.out.write(
      given.json
        ? `${JSON.stringify({ data: states }, null, 2)}\n`
        : tableOf(states, regionTexts(extraRegions)),
    );
  });
}

async function rotate(args: readonly string[], surroundings: Surroundings): Promise<void> {
  const [parts, options] = partsIn(args, A_PART);
  const given = parseOptions(options, ROTATE);
  const [part, ...more] = parts;
  if (part === undefined || more.length > 0) throw new UsageError('rotate one key at a time');
  if (given.finish && given.now) throw new UsageError('--finish and --now exclude each other');
  await withFolder(given, surroundings, async (folder) => {
    if (given.finish) return await finish(folder, part, given.force === true, surroundings);
    await requirePlace(given, surroundings);
    if (!given.now) await refuseSecondRotation(folder, part, surroundings);
    const isNew = await folder.rotate(part, given.now === true);
    if (!isNew)
      surroundings.err.write(
        `svc: a rotation of ${part} had begun, and no client uses its new key: it continues\n`,
      );
    await tellSettings(folder, part, given, surroundings);
    await reload(folder, { seed: await folder.seedOf(part), isAccepted: true }, surroundings);
    surroundings.err.write(
      given.now
        ? `svc: the former key of ${part} is refused from now on\n`
        : `svc: give ${part} the new key and restart it, then call "region rotate ${part} --finish": the former key works until then\n`,
    );
  });
}

function keyStatesOf(folder: NatsFolder, { err }: Surroundings): Promise<KeyState[]> {
  return keyStates(folder, (line) => err.write(`svc: ${line}\n`));
}

/**
 * Checks that the part has no unfinished rotation whose new key is in use.
 *
 * @throws UsageError when it has one
 */
async function refuseSecondRotation(
  folder: NatsFolder,
  part: Part,
  surroundings: Surroundings,
): Promise<void> {
  if ((keysOf(folder.state, part)?.former ?? null) === null) return;
  const used = (await keyStatesOf(folder, surroundings)).find(({ name }) => name === part);
  const connections = used?.connections ?? null;
  if (connections === 0) return;
  // Without a count, the rotation may continue with the new key. If that key is lost, `rotate`
  // would make another one, although a client may use the lost key.
  if (connections === null && (await findSeed(folder, part, surroundings)) !== null) return;
  throw new UsageError(
    `${part} still has a former key: end the former rotation with "region rotate ${part} --finish"`,
  );
}

async function finish(
  folder: NatsFolder,
  part: Part,
  isForced: boolean,
  surroundings: Surroundings,
): Promise<void> {
  const used = (await keyStatesOf(folder, surroundings)).find(({ name }) => name === part);
  if (!isForced && used?.former_connections === null && used.former !== null) {
    throw new UsageError(
      `no NATS server can be asked who uses the former key of ${part}: call this where one is reached, or add --force`,
    );
  }
  if (!isForced && (used?.former_connections ?? 0) > 0) {
    throw new UsageError(
      `${used?.former_connections} connections still use the former key of ${part}: give them the new one first, or cut them off with --force`,
    );
  }
  const sign = await signOf(folder, part, true, surroundings);
  const had = await folder.finish(part);
  await reload(folder, sign, surroundings);
  surroundings.err.write(
    had ? `svc: the former key of ${part} is refused from now on\n` : `svc: ${part} has no former key\n`,
  );
}

async function remove(args: readonly string[], surroundings: Surroundings): Promise<void> {
  const [regions, options] = partsIn(args, A_REGION);
  const given = parseOptions(options, FOLDER);
  await withFolder(given, surroundings, async (folder) => {
    for (const region of regions) {
      const sign = await signOf(folder, region, false, surroundings);
      const wasThere = await folder.remove(region);
      // The servers reload even when the region was not there. A call
      // that was killed may have left them with the former accounts.
      await reload(folder, sign, surroundings);
      surroundings.err.write(
        wasThere
          ? `svc: removed the account of ${region}; monitors that declare it are not checked from there any more\n`
          : `svc: there is no account of ${region}\n`,
      );
    }
  });
}

/**
 * Finds the key that shows whether the server has reloaded. Null when the part has no account, or when the
 * file of its key is missing or unusable. A former key or a region can be removed without this key.
 */
async function signOf(
  folder: NatsFolder,
  part: Part,
  isAccepted: boolean,
  surroundings: Surroundings,
): Promise<ReloadSign | null> {
  if (keysOf(folder.state, part) === undefined) return null;
  const seed = await findSeed(folder, part, surroundings);
  return seed === null ? null : { seed, isAccepted };
}

function findSeed(folder: NatsFolder, part: Part, { err }: Surroundings): Promise<Secret | null> {
  return folder.findSeed(part, (line) => err.write(`svc: ${line}\n`));
}

async function withFolder(
  { 'nats-dir': given }: Files,
  { environment }: Surroundings,
  work: (folder: NatsFolder) => Promise<void>,
): Promise<void> {
  const { dataDir, natsDir } = readEnvironment(SETTINGS, environment).values;
  const path = userPath(given ?? natsDir ?? join(dataDir, 'nats-server'), environment);
  const folder = await NatsFolder.open(path, environment);
  try {
    await work(folder);
  } catch (error) {
    throw explained(error, path);
  } finally {
    folder.close();
  }
}

const NOT_WRITABLE = ['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM'];

/** Adds advice to an error about a folder that cannot be written. Returns any other error unchanged. */
function explained(error: unknown, path: string): unknown {
  if (!isCode(error, ...NOT_WRITABLE)) return error;
  return new SvcError(
    'file-not-written',
    `cannot write to ${path}: ${messageOf(error)}. Keys that are in use work on: make room or call it as the owner of the folder, and call it again`,
    { cause: error },
  );
}

/** Writes the settings of a part to the file that the options name, or else to the output. */
async function tellSettings(
  folder: NatsFolder,
  part: Part,
  { 'env-file': file, force }: Files,
  { environment, out, err }: Surroundings,
): Promise<void> {
  const text = await clientSettings(folder, part);
  if (file === undefined) return void out.write(text);
  const path = userPath(file, environment);
  try {
    await writeNewFile(path, text, { replaces: force === true, isSecret: true });
  } catch (error) {
    throw new SvcError(
      'file-not-written',
      `${messageOf(error)}. The keys are made and kept: call this again, and it writes these settings and reloads the server`,
      { cause: error },
    );
  }
  err.write(`svc: wrote the settings of ${part} to ${path}\n`);
}

/**
 * Checks that the settings can be written to the file. It is called before a key is made.
 *
 * @throws SvcError when the settings cannot be written
 */
async function requirePlace(
  { 'env-file': file, force }: Files,
  { environment }: Surroundings,
): Promise<void> {
  if (file !== undefined) await requireWritable(userPath(file, environment), force === true);
}

async function reload(folder: NatsFolder, sign: ReloadSign | null, { err }: Surroundings): Promise<void> {
  for (const line of await reloadServers(folder, sign)) err.write(`svc: ${line}\n`);
}

/** What the arguments of an action may name. */
type Nameable<P extends Part> = { readonly noun: string; readonly names: readonly P[] };

const A_REGION: Nameable<Region> = { noun: 'region', names: REGIONS };
const A_PART: Nameable<Part> = {
  noun: 'region, coordinator or system',
  names: ['coordinator', 'system', ...REGIONS],
};

/**
 * Splits the arguments into the names at the beginning and the options.
 *
 * @throws UsageError when there is no name, or an unknown name
 */
function partsIn<P extends Part>(
  args: readonly string[],
  { noun, names }: Nameable<P>,
): [parts: P[], options: string[]] {
  const firstOption = args.findIndex((arg) => arg.startsWith('-'));
  const given = firstOption === -1 ? args : args.slice(0, firstOption);
  const anyOf = `one of ${names.join(', ')}, or a region of your own`;
  if (given.length === 0) throw new UsageError(`the ${noun} is missing: ${anyOf}`);
  const parts = given.map((name) => {
    const part = names.find((known) => known === name);
    if (part !== undefined) return part;
    // Each kind of part that can be named includes the regions of one's own.
    const meant = nearest(name, names);
    if (isOwnRegionId(name) && (meant === null || isFixedRegion(meant))) return name as P;
    const hint = meant === null ? `use ${anyOf}` : `did you mean ${meant}?`;
    throw new UsageError(`${name} is not a ${noun}: ${hint}`);
  });
  return [[...new Set(parts)], args.slice(given.length)];
}

/**
 * The settings with which the part reaches NATS, as the text of an env file
 * that systemd, Docker and `node --env-file` can read. It contains the key.
 */
async function clientSettings(folder: NatsFolder, part: Part): Promise<string> {
  const { url, ca } = folder.state;
  const seed = await folder.seedOf(part);
  const of = isRegionId(part) ? `an agent of svc in ${part}` : `the ${part} of svc`;
  return [
    `# Settings of ${of}. Keep this secret: it has a key.`,
    `SVC_NATS_URL=${url}`,
    ...(ca === null ? [] : [`SVC_NATS_CA=${ca}`]),
    `SVC_NATS_NKEY=${seed.reveal()}`,
    ...(isRegionId(part) ? [`SVC_REGION=${part}`] : []),
    '',
  ].join('\n');
}
