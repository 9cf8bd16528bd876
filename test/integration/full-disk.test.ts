/**
 * Commands that store keys and data, on a disk that becomes full: nothing is lost, and the message says what
 * to do.
 */

import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { openStore } from '@svc/coordinator/store/open.ts';
import { natsKeyOf } from '@svc/shared/nats/keys.ts';
import { Secret } from '@svc/shared/secret.ts';
import { pino } from 'pino';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { builtService } from '../support/built-services.ts';
import { ROOT } from '../support/process.ts';
import { SmallDisk, whyNoSmallDisk } from '../support/small-disk.ts';

const reason = whyNoSmallDisk();
const isSkipped = reason !== null && process.env.CI !== 'true';
if (isSkipped) process.stdout.write(`skipped: commands on a full disk: ${reason}\n`);

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-full-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
});

async function diskOf(options: string): Promise<SmallDisk> {
  const disk = await SmallDisk.mount(join(folder, 'disk'), options);
  onTestFinished(() => disk.close());
  return disk;
}

const svc = async (disk: SmallDisk, args: readonly string[], environment: Record<string, string> = {}) =>
  disk.run(process.execPath, ['--', await builtService('svc'), ...args], {
    NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/node'),
    ...environment,
  });

const publicKeyIn = (settings: string): string =>
  natsKeyOf(new Secret(String(parseEnv(settings).SVC_NATS_NKEY))).publicKey;

describe('svc region on a full disk', () => {
  // Free space, KiB. Each file takes a page of 4 KiB, so these are all places where a rotation can be cut
  // short.
  test.skipIf(isSkipped).each([0, 4, 8, 12, 16, 20, 24])(
    'with %d KiB left, a rotation loses no key that somebody has, and the next call completes it',
    async (freeKib) => {
      const disk = await diskOf('size=256k');
      const region = (...args: string[]) => svc(disk, ['region', ...args, '--nats-dir', disk.path]);
      const settings = join(disk.path, 'agent.env');
      expect(await region('add', 'hosta-ams', '--env-file', settings)).toMatchObject({ code: 0 });
      const valid = async () => readFile(disk.outside('accounts.conf'), 'utf8');
      const first = publicKeyIn(await readFile(disk.outside('agent.env'), 'utf8'));

      await disk.fill(freeKib);
      const rotated = await region('rotate', 'hosta-ams', '--env-file', settings, '--force');
      if (rotated.code !== 0) expect(rotated.err).toMatch(/cannot write .*ENOSPC.*call (?:it|this) again/);
      expect(await valid()).toContain(first);
      // The key in the file of settings is valid, whether it is the former or the new one.
      const held = publicKeyIn(await readFile(disk.outside('agent.env'), 'utf8'));
      if (rotated.code === 0) expect(held).not.toBe(first);
      else expect(held).toBe(first);

      await disk.makeRoom();
      const again = await region('rotate', 'hosta-ams', '--env-file', settings, '--force');
      expect(again).toMatchObject({ code: 0 });
      const second = publicKeyIn(await readFile(disk.outside('agent.env'), 'utf8'));
      expect(second).not.toBe(first);
      expect(await valid()).toContain(first);
      expect(await valid()).toContain(second);
      expect((await readdir(disk.outside(''))).sort()).toEqual([
        'accounts.conf',
        'agent-hosta-ams.nk',
        'agent.env',
        'coordinator.nk',
        'nats.conf',
        'regions.json',
        'regions.lock',
        'system.nk',
      ]);
    },
  );
});

describe('svc backup to a full disk', () => {
  async function database(): Promise<string> {
    const path = join(folder, 'data/svc.db');
    const store = await openStore({ path, log: pino({ enabled: false }) });
    await store.close();
    return join(folder, 'data');
  }

  test.skipIf(isSkipped)('says what to do, and leaves nothing', async () => {
    const data = await database();
    const disk = await diskOf('size=128k');
    const { code, err } = await svc(disk, ['backup', join(disk.path, 'backup')], { SVC_DATA_DIR: data });
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringMatching(/there is no room in .*: some \d+ MiB are needed, and 1 MiB are left/),
    });
    expect(err).toContain('Make room, or name a folder on another disk');
    expect(await readdir(disk.outside(''))).toEqual([]);
  });

  test.skipIf(isSkipped)('leaves nothing when a limit on the size of files ends it half-way', async () => {
    const data = await database();
    const disk = await diskOf('size=32m');
    const main = await builtService('svc');
    // `ulimit` limits files to 64 KiB.
    const script = `ulimit -f 64; exec '${process.execPath}' -- '${main}' backup '${disk.path}/backup'`;
    const { code, err } = await disk.run('bash', ['-c', script], { SVC_DATA_DIR: data });
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringContaining(`cannot copy ${data}/svc.db to ${disk.path}/backup.`),
    });
    expect(await readdir(disk.outside(''))).toEqual([]);
  });

  test.skipIf(isSkipped)('a restore to a full disk says the same', async () => {
    const data = await database();
    const disk = await diskOf('size=128k');
    const backup = join(folder, 'backup');
    expect(await svc(disk, ['backup', backup], { SVC_DATA_DIR: data })).toMatchObject({ code: 0 });
    const { code, err } = await svc(disk, ['restore', backup], { SVC_DATA_DIR: join(disk.path, 'data') });
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringContaining(`there is no room in ${disk.path}/data`),
    });
    expect(await readdir(disk.outside('data'))).toEqual([]);
  });
});
