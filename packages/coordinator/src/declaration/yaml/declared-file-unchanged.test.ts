import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { rename, unlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ConfiguredStore, silentLog } from '../../../../../test/support/configured-store.ts';
import { type DeclaredFiles, declaredFiles } from '../../../../../test/support/declared-file.ts';
import { FakeClock } from '../../../../../test/support/fake-clock.ts';
import { readOnThisThread } from '../../../../../test/support/read-declaration.ts';
import { addRows, changeRow, rowsOf } from '../../../../../test/support/store-rows.ts';
import { removeResources } from '../../store/declaration/resources.ts';
import { Secrets } from '../../store/declaration/secrets.ts';
import { StoreError } from '../../store/errors.ts';
import { writeFact } from '../../store/facts.ts';
import { resealWhereDue } from '../reseal.ts';
import type { DeclaredFile, DeclaredFileParts } from './declared-file.ts';

const HOOK = 'https://hook.example/a-secret-path';
const TEXT = [
  'svc_tcp_monitor: { a: { name: a, uri: "a.example:1", periodicity: 1m }, b: { name: b, uri: "b.example:1", periodicity: 1m } }',
  `svc_notification: { n: { provider_type: webhook, webhook: { endpoint: "\${env.HOOK}" }, monitor_ids: ["\${svc_tcp_monitor.a.id}"] } }`,
  `svc_status_page: { p: { title: "\${file.title}", slug: p, password: a-password } }`,
].join('\n');

let files: DeclaredFiles;
let parts: ConfiguredStore;
let path: string;
/** Number of times that the file was read and parsed. */
let reads: number;

beforeEach(async () => {
  files = await declaredFiles({ HOOK, OTHER: '1' });
  ({ store: parts, path } = files);
  reads = 0;
  await writeFile(path, TEXT);
  await writeFile(join(files.folder, 'title'), 'A title\n');
});
afterEach(() => files.dispose());

async function started(changes: Partial<DeclaredFileParts> = {}): Promise<DeclaredFile> {
  const read: DeclaredFileParts['read'] = async (request) => {
    reads += 1;
    return readOnThisThread(request);
  };
  const file = files.declaredFile({ read, ...changes });
  await file.start();
  return file;
}

/** Applies the declared file once, and stops watching it. */
async function appliedOnce(): Promise<void> {
  await (await started()).stop();
  expect(reads).toBe(1);
  reads = 0;
}

const monitorRows = () => rowsOf(parts.store, 'monitors');

describe('at a start', () => {
  test('an unchanged file is not read again, and its status still says what it declares', async () => {
    await appliedOnce();
    const before = await monitorRows();
    const file = await started({ env: { HOOK, OTHER: '2' } });
    expect(reads).toBe(0);
    expect(await monitorRows()).toEqual(before);
    expect(file.status()).toMatchObject({
      resources: 4,
      digest: createHash('sha256').update(TEXT).digest('hex'),
      appliedAt: expect.any(Number),
      errors: [],
    });
  });

  test('an unchanged file is not read at the second start either', async () => {
    await appliedOnce();
    await (await started()).stop();
    await started();
    expect(reads).toBe(0);
  });

  test.each<[string, () => Promise<unknown>, Partial<DeclaredFileParts>?]>([
    ['that was changed', () => writeFile(path, `${TEXT}\n`)],
    [
      'that inserts a file which was changed',
      () => writeFile(join(files.folder, 'title'), 'Another title\n'),
    ],
    [
      'that inserts a variable which was changed',
      async () => {},
      { env: { HOOK: 'https://hook.example/b' } },
    ],
    ['for which other addresses are allowed', async () => {}, { channelEgressAllow: ['10.0.0.0/8'] }],
    ['of another version of svc', async () => {}, { version: '1.0.1' }],
    ['whose resources were released', () => parts.configuration.releaseFileOwnership()],
    [
      'with a resource that was removed',
      async () => {
        const [row] = await monitorRows();
        await parts.store.transaction((tx) => removeResources(tx, 'monitors', [row?.id ?? 0]));
      },
    ],
    [
      'with a resource that was changed',
      async () => {
        const [row] = await monitorRows();
        await changeRow(parts.store, 'monitors', row?.id ?? 0, { name: 'x', row_version: 2 });
      },
    ],
    [
      'with a resource that was removed and created again',
      async () => {
        const [row] = await monitorRows();
        if (row === undefined) throw new TypeError('there is no monitor');
        const { id, ...columns } = row;
        await parts.store.transaction((tx) => removeResources(tx, 'monitors', [id]));
        await addRows(parts.store, 'monitors', columns);
      },
    ],
    [
      'whose stored sources cannot be read',
      () => parts.store.transaction(({ db }) => writeFact(db, 'declared_sources', '{')),
    ],
  ])('a file %s is read', async (_, change, again = {}) => {
    await appliedOnce();
    await change();
    const file = await started(again);
    expect(reads).toBe(1);
    expect(file.status()).toMatchObject({ resources: 4, errors: [] });
    expect(await monitorRows()).toMatchObject([{ owner: 'file' }, { owner: 'file' }]);
    await file.stop();
    await started(again);
    expect(reads).toBe(1);
  });

  test('warnings about an unchanged file have its present name', async () => {
    await appliedOnce();
    const renamed = join(files.folder, 'renamed.yaml');
    await rename(path, renamed);
    const file = await started({ path: renamed });
    expect(reads).toBe(0);
    expect(file.status().warnings).toMatchObject([{ file: 'renamed.yaml', line: 3 }]);
  });

  test('an unchanged file is recognized while the previous key is set, and read once without that key', async () => {
    await appliedOnce();
    const key = randomBytes(32);
    const both = new Secrets(key, parts.secretKey);
    await (await started({ secrets: both })).stop();
    expect(reads).toBe(0);
    await resealWhereDue(parts.store, both, silentLog);
    const secrets = new Secrets(key);
    const file = await started({ secrets });
    expect(file.status()).toMatchObject({ resources: 4, errors: [] });
    await file.stop();
    await started({ secrets });
    expect(reads).toBe(1);
  });

  test('a variable that is no longer set is an error, and the applied declaration stays in effect', async () => {
    await appliedOnce();
    const file = await started({ env: {} });
    expect(file.status().errors[0]?.message).toContain('the environment variable HOOK is not set');
  });

  test('an inserted file that is gone is an error', async () => {
    await appliedOnce();
    await unlink(join(files.folder, 'title'));
    expect((await started()).status().errors[0]?.message).toContain(
      'cannot read title: the file does not exist',
    );
  });

  test('a pipe that replaces an inserted file does not block the reading', async () => {
    await appliedOnce();
    await unlink(join(files.folder, 'title'));
    execFileSync('mkfifo', [join(files.folder, 'title')]);
    expect((await started()).status().errors).toHaveLength(1);
  });

  test('channels of an unchanged file that can no longer deliver are marked as failing', async () => {
    await appliedOnce();
    const file = await started({ channelProblem: () => ({ message: 'a setting is missing' }) });
    expect(reads).toBe(0);
    const failing = [{ state: 'failing', state_reason: 'a setting is missing' }];
    expect(await rowsOf(parts.store, 'notifications')).toMatchObject(failing);
    await file.stop();
    await started({ channelProblem: () => ({ message: 'a setting is missing' }) });
    expect(reads).toBe(0);
  });

  test('channels of an unchanged file that can deliver again become ok', async () => {
    await (await started({ channelProblem: () => ({ message: 'a setting is missing' }) })).stop();
    await started();
    expect(reads).toBe(1);
    expect(await rowsOf(parts.store, 'notifications')).toMatchObject([{ state: 'ok', state_reason: null }]);
  });
});

describe('while it is watched', () => {
  /**
   * Starts the declared file. The returned function returns a
   * promise that resolves when the next transaction has ended.
   */
  async function watched(): Promise<{ next: () => Promise<void> }> {
    const { configuration } = parts;
    let told = () => {};
    await started({
      configuration: {
        transaction: async (context, work) => {
          const result = await configuration.transaction(context, work);
          told();
          return result;
        },
        releaseFileOwnership: () => configuration.releaseFileOwnership(),
      },
    });
    return {
      next: () =>
        new Promise((resolve) => {
          told = resolve;
        }),
    };
  }

  test('a file that was only touched is not read again', async () => {
    await appliedOnce();
    const { next } = await watched();
    const looked = next();
    await utimes(path, 1, 1);
    await looked;
    expect(reads).toBe(0);
  });

  test('a change of an inserted file is noticed', async () => {
    await appliedOnce();
    const { next } = await watched();
    const applied = next();
    await writeFile(join(files.folder, 'title'), 'Another title\n');
    await applied;
    expect(reads).toBe(1);
  });
});

test('a reload reads and compares an unchanged file', async () => {
  await appliedOnce();
  const file = await started();
  const [row] = await monitorRows();
  await changeRow(parts.store, 'monitors', row?.id ?? 0, { name: 'x' });
  await file.reload();
  expect(reads).toBe(1);
  expect(await monitorRows()).toMatchObject([{ name: 'a' }, { name: 'b' }]);
});

test('a reload during an apply reads the file once more', async () => {
  await appliedOnce();
  const file = await started();
  await Promise.all([file.reload(), file.reload()]);
  expect(reads).toBe(2);
});

test('a reload reads the file even when the database makes it wait', async () => {
  await appliedOnce();
  const { configuration } = parts;
  const clock = new FakeClock();
  let isBusy = false;
  const file = await started({
    clock,
    configuration: {
      transaction: (context, work) =>
        isBusy
          ? Promise.reject(new StoreError('store-busy', 'another program holds it'))
          : configuration.transaction(context, work),
      releaseFileOwnership: () => configuration.releaseFileOwnership(),
    },
  });
  const [row] = await monitorRows();
  await changeRow(parts.store, 'monitors', row?.id ?? 0, { name: 'x' });
  isBusy = true;
  await file.reload();
  expect(file.status().waiting).toMatchObject({ reason: 'another program holds it', tries: 1 });
  isBusy = false;
  clock.advance(1_000);
  await expect.poll(async () => (await monitorRows()).map(({ name }) => name)).toEqual(['a', 'b']);
  expect(reads).toBe(2);
});

test('the database reveals no inserted value', async () => {
  await appliedOnce();
  const facts = JSON.stringify(await rowsOf(parts.store, 'facts'));
  for (const secret of [HOOK, 'A title', 'A title\n']) {
    expect(facts).not.toContain(secret);
    expect(facts).not.toContain(createHash('sha256').update(secret).digest('hex'));
  }
});
