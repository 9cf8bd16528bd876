import { mkdir, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ChannelKind } from '@svc/shared/channels/settings.ts';
import { parseResource } from '@svc/shared/resources/registry.ts';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ConfiguredStore } from '../../../../../test/support/configured-store.ts';
import { type DeclaredFiles, declaredFiles } from '../../../../../test/support/declared-file.ts';
import { FakeClock } from '../../../../../test/support/fake-clock.ts';
import { fillDatabase } from '../../../../../test/support/full-database.ts';
import { ownedByFile } from '../../../../../test/support/owned-by-file.ts';
import { VALID } from '../../../../../test/support/resources.ts';
import { rowsOf } from '../../../../../test/support/store-rows.ts';
import type { Configuration } from '../configuration.ts';
import { DeclarationError } from './declaration.ts';
import type { DeclaredFile, DeclaredFileParts } from './declared-file.ts';
import { readDeclaration } from './read.ts';

let files: DeclaredFiles;
let parts: ConfiguredStore;
let path: string;

beforeEach(async () => {
  files = await declaredFiles();
  ({ store: parts, path } = files);
});
afterEach(() => files.dispose());

const declaredFile = (changes: Partial<DeclaredFileParts> = {}) => files.declaredFile(changes);

async function started(text: string, changes: Partial<DeclaredFileParts> = {}): Promise<DeclaredFile> {
  await writeFile(path, text);
  const file = declaredFile(changes);
  await file.start();
  return file;
}

const owned = () => ownedByFile(parts.store, parts.secrets, parts.workspaceId);
const names = async () => (await owned()).map(({ kind, localName }) => `${kind}.${localName}`);
const ids = async () => (await owned()).map(({ id }) => id);

const monitor = (name: string, more = '') =>
  `  ${name}: { name: ${name}, uri: "a.example:1", periodicity: 1m${more} }\n`;
const monitors = (...all: string[]) => `svc_tcp_monitor:\n${all.map((name) => monitor(name)).join('')}`;
const channel = (...of: string[]) =>
  `svc_notification: { n: { provider_type: webhook, webhook: { endpoint: "\${env.HOOK}" }, monitor_ids: [${of
    .map((name) => `"\${svc_tcp_monitor.${name}.id}"`)
    .join(', ')}] } }\n`;
const PAGE = [
  'svc_status_page: { p: { title: p, slug: p } }',
  `svc_status_page_component_group: { g: { name: g, page_id: "\${svc_status_page.p.id}" } }`,
  `svc_status_page_component: { c: { type: monitor, monitor_id: "\${svc_tcp_monitor.a.id}", page_id: "\${svc_status_page.p.id}", group_id: "\${svc_status_page_component_group.g.id}" } }\n`,
].join('\n');

describe('at start', () => {
  test('all resources are created, with references resolved and settings inserted', async () => {
    const file = await started(monitors('a', 'b') + channel('b', 'a') + PAGE);
    expect(await names()).toEqual([
      'svc_tcp_monitor.a',
      'svc_tcp_monitor.b',
      'svc_notification.n',
      'svc_status_page.p',
      'svc_status_page_component_group.g',
      'svc_status_page_component.c',
    ]);
    const [a, b, n, p, g, c] = await owned();
    expect(n?.attributes).toMatchObject({
      monitor_ids: [String(a?.id), String(b?.id)],
      settings: { endpoint: 'https://hook.example/a' },
    });
    expect(c?.attributes).toMatchObject({
      page_id: String(p?.id),
      monitor_id: String(a?.id),
      group_id: String(g?.id),
    });
    expect(parts.monitors.size).toBe(2);
    expect(file.status()).toMatchObject({
      path,
      resources: 6,
      errors: [],
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  test('entries of several messages arrive from the reading thread', async () => {
    const many = Array.from({ length: 250 }, (_, index) => `m${index}`);
    const file = await started(monitors(...many), { read: readDeclaration });
    expect(file.status().resources).toBe(250);
    expect(await names()).toEqual(many.map((name) => `svc_tcp_monitor.${name}`));
    await writeFile(path, 'svc_tcp_monitor: [');
    await file.reload();
    expect(file.status().errors).toHaveLength(1);
  });

  test('parts without effect are listed with their position, in the status and in the log', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `p${index}`);
    const pages = names.map((name) => `  ${name}: { title: Page, slug: ${name}, password: a-password }\n`);
    // There are more monitors than pages, because a removal
    // of more than half of the resources would be refused.
    const kept = monitors(...names, 'a', 'b');
    const text = `svc_status_page:\n${pages.join('')}${kept}`;
    const lines: { msg: string }[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(JSON.parse(line)) });
    const file = await started(text, { log, read: readDeclaration });
    const why = 'password has no effect: access_type is public, not password';
    const { warnings, errors } = file.status();
    expect(errors).toEqual([]);
    expect(warnings).toHaveLength(12);
    expect(warnings[0]).toEqual({
      file: 'svc.yaml',
      line: 2,
      column: 3,
      message: `svc_status_page.p0: ${why}`,
    });
    expect(lines).toMatchObject([
      {
        msg: 'parts of the declared file have no effect',
        warnings: expect.arrayContaining([`svc.yaml:2:3: svc_status_page.p0: ${why}`]),
        more: 2,
      },
    ]);
    await writeFile(path, kept);
    await file.reload();
    expect(file.status().warnings).toEqual([]);
    expect(lines).toHaveLength(1);
  });

  test('the audit trail has a line for the apply and one for each change', async () => {
    const file = await started(monitors('a', 'b'));
    await writeFile(path, monitors('a'));
    await file.reload();
    await file.reload();
    const lines = await rowsOf(parts.store, 'audit');
    expect(new Set(lines.map(({ actor }) => actor))).toEqual(new Set(['declared-file']));
    const [a, b] = lines.filter(({ action }) => action === 'create').map(({ object }) => object);
    expect(lines.map(({ action, object, detail }) => [action, object, detail])).toEqual([
      [
        'apply',
        'declared-file',
        expect.stringMatching(/^svc\.yaml \(SHA-256 [0-9a-f]{64}\): 2 of its objects changed$/),
      ],
      ['create', a, 'svc_tcp_monitor.a'],
      ['create', b, 'svc_tcp_monitor.b'],
      ['apply', 'declared-file', expect.stringMatching(/: 1 of its objects changed$/)],
      ['remove', b, 'svc_tcp_monitor.b'],
    ]);
  });

  test('the same file again writes nothing', async () => {
    const text = monitors('a') + channel('a') + PAGE;
    await (await started(text)).stop();
    const before = await owned();
    await started(text);
    expect(await owned()).toEqual(before);
  });

  test('a file with errors is refused with all of them, and nothing is changed', async () => {
    await writeFile(path, monitors('a') + monitor('b', ', retry: 11, activ: true'));
    const file = declaredFile();
    const error = await file.start().then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(DeclarationError);
    expect((error as DeclarationError).errors.map(({ line, column }) => [line, column])).toEqual([
      [3, 61],
      [3, 65],
    ]);
    expect(await names()).toEqual([]);
  });

  test('a missing file is an error', async () => {
    await expect(declaredFile().start()).rejects.toThrow(
      `svc.yaml:1:1: cannot read ${path}: the file does not exist`,
    );
  });

  test('a file with errors leaves the applied declaration in effect', async () => {
    await (await started(monitors('a'))).stop();
    const file = await started('svc_tcp_monitor: [');
    expect(file.status().errors).toHaveLength(1);
    expect(await names()).toEqual(['svc_tcp_monitor.a']);
  });

  test('an endpoint that the operator denies is an error at its entry', async () => {
    const denied = monitors('a') + monitor('b', ', otlp_endpoint: "http://10.0.0.1:4318"');
    await expect(started(denied)).rejects.toThrow(
      /:3:\d+: svc_tcp_monitor\.b\.otlp_endpoint: is at 10\.0\.0\.1, which svc does not connect to .*SVC_CHANNEL_EGRESS_ALLOW/,
    );
    expect(await names()).toEqual([]);
    await started(monitors('a') + monitor('b', ', otlp_endpoint: "http://127.0.0.1:4318"'));
    expect(await names()).toHaveLength(2);
  });

  test('a refusal of the store is an error at the entry, and nothing is changed', async () => {
    await expect(
      started(
        `${monitors('a')}svc_notification:\n  n: { provider_type: sms, sms: { phone_number: "+4915112345678" }, monitor_ids: ["77"] }\n`,
      ),
    ).rejects.toThrow(/^svc\.yaml:4:3: svc_notification\.n\.monitor_ids\.0: /);
    expect(await names()).toEqual([]);
  });
});

describe('a reload', () => {
  test('changes what differs and keeps ids', async () => {
    const file = await started(monitors('a', 'b') + channel('a', 'b') + PAGE);
    const before = await ids();
    await writeFile(path, monitors('a', 'b').replace('name: a', 'name: other') + channel('a') + PAGE);
    await file.reload();
    expect(await ids()).toEqual(before);
    const [a, , n] = await owned();
    expect(a?.attributes).toMatchObject({ name: 'other' });
    expect(n?.attributes).toMatchObject({ monitor_ids: [String(a?.id)] });
  });

  test('removes what is no longer declared', async () => {
    const file = await started(monitors('a', 'b') + channel('a', 'b') + PAGE);
    await writeFile(path, monitors('b') + channel('b'));
    await file.reload();
    expect(await names()).toEqual(['svc_tcp_monitor.b', 'svc_notification.n']);
    await writeFile(path, '{}');
    await file.reload();
    expect(await names()).toEqual([]);
    expect(file.status()).toMatchObject({ resources: 0, errors: [] });
  });

  test('gives the slug of a removed page to another entry', async () => {
    const file = await started('svc_status_page: { a: { title: a, slug: s } }');
    await writeFile(path, 'svc_status_page: { b: { title: b, slug: s } }');
    await file.reload();
    expect(await names()).toEqual(['svc_status_page.b']);
  });

  test('with errors changes nothing, says so, and later recovers', async () => {
    const file = await started(monitors('a'));
    const { appliedAt, digest } = file.status();
    await writeFile(path, '');
    await file.reload();
    expect(file.status()).toMatchObject({
      appliedAt,
      digest,
      errors: [{ line: 1, column: 1, message: 'the file is empty: write {} to declare nothing' }],
    });
    expect(await names()).toEqual(['svc_tcp_monitor.a']);
    await writeFile(path, monitors('a', 'b'));
    await file.reload();
    expect(file.status()).toMatchObject({ resources: 2, errors: [] });
  });

  const TEN = 'abcdefghij'.split('');

  test('refuses to delete most resources, unless that is allowed', async () => {
    const file = await started(monitors(...TEN));
    await writeFile(path, monitors('a', 'b', 'c', 'd'));
    await file.reload();
    expect(file.status().errors[0]?.message).toBe(
      'the file would delete 6 of the 10 resources that it declared before: set SVC_CONFIG_ALLOW_DELETE=1 to allow that',
    );
    expect(await names()).toHaveLength(10);
    await file.stop();
    await started(monitors('a', 'b', 'c', 'd'), { allowsDelete: true });
    expect(await names()).toHaveLength(4);
  });

  test('takes over the declared resources that a start without the file released, edited or not, and leaves the others', async () => {
    await (await started(monitors('a', 'b', 'c') + channel('a') + PAGE)).stop();
    const before = await owned();
    const idOf = (name: string) => before.find(({ localName }) => localName === name)?.id ?? 0;
    await parts.configuration.releaseFileOwnership();
    expect(await owned()).toEqual([]);
    const edited = parseResource('svc_tcp_monitor', { ...VALID.svc_tcp_monitor, name: 'edited' }, 'api');
    if (!edited.ok) throw new Error('the edit is not valid');
    await parts.configuration.transaction({ workspaceId: parts.workspaceId, actor: 'api' }, (change) =>
      change.update('svc_tcp_monitor', idOf('b'), edited.value),
    );
    await started(monitors('a', 'b') + channel('a') + PAGE);
    expect(await ids()).toEqual(before.map(({ id }) => id).filter((id) => id !== idOf('c')));
    expect(await rowsOf(parts.store, 'monitors')).toMatchObject([
      { name: 'a', owner: 'file' },
      { name: 'b', owner: 'file' },
      { name: 'c', owner: null },
    ]);
  });

  test('says which channels cannot deliver', async () => {
    let problem: string | null = 'SVC_WEBHOOKS is not set';
    const channelProblem = (kind: ChannelKind) =>
      kind === 'webhook' && problem !== null ? { message: problem } : null;
    const state = () => rowsOf(parts.store, 'notifications');
    const text = monitors('a') + channel('a');
    await (await started(text, { channelProblem })).stop();
    expect(await state()).toMatchObject([{ state: 'failing', state_reason: 'SVC_WEBHOOKS is not set' }]);
    problem = null;
    await started(text, { channelProblem });
    expect(await state()).toMatchObject([{ state: 'ok', state_reason: null }]);
  });
});

describe('on change', () => {
  /** `committed` returns a promise that resolves when the next transaction of `configuration` is committed. */
  function committing(): { configuration: Configuration; committed: () => Promise<void> } {
    let told = () => {};
    const { configuration } = parts;
    return {
      configuration: {
        transaction: async (context, work) => {
          const result = await configuration.transaction(context, work);
          told();
          return result;
        },
        releaseFileOwnership: () => configuration.releaseFileOwnership(),
      },
      committed: () =>
        new Promise((resolve) => {
          told = resolve;
        }),
    };
  }

  test('written in place', async () => {
    const { configuration, committed } = committing();
    await started(monitors('a'), { configuration });
    const applied = committed();
    await writeFile(path, monitors('a', 'b'));
    await applied;
    expect(await names()).toHaveLength(2);
  });

  test('renamed into place, twice', async () => {
    const { configuration, committed } = committing();
    await started(monitors('a'), { configuration });
    for (const all of [
      ['a', 'b'],
      ['a', 'b', 'c'],
    ]) {
      const applied = committed();
      await writeFile(`${path}.new`, monitors(...all));
      await rename(`${path}.new`, path);
      await applied;
      expect(await names()).toHaveLength(all.length);
    }
  });

  test('swapped behind symbolic links, as Kubernetes does', async () => {
    const { configuration, committed } = committing();
    const at = (name: string) => join(files.folder, name);
    await Promise.all(['..1', '..2'].map((name) => mkdir(at(name))));
    await writeFile(join(at('..1'), 'svc.yaml'), monitors('a'));
    await writeFile(join(at('..2'), 'svc.yaml'), monitors('a', 'b'));
    await symlink('..1', at('..data'));
    await symlink('..data/svc.yaml', path);
    const file = declaredFile({ configuration });
    await file.start();
    const applied = committed();
    await symlink('..2', at('..data_tmp'));
    await rename(at('..data_tmp'), at('..data'));
    await rm(at('..1'), { recursive: true });
    await applied;
    expect(await names()).toHaveLength(2);
  });

  test('of an inserted file', async () => {
    const { configuration, committed } = committing();
    await writeFile(join(files.folder, 'title'), 'one\n');
    await started(`svc_status_page: { p: { title: "\${file.title}", slug: p } }`, { configuration });
    const applied = committed();
    await writeFile(join(files.folder, 'title'), 'another\n');
    await applied;
    expect((await owned())[0]?.attributes).toMatchObject({ title: 'another' });
  });

  test('removed and created again', async () => {
    const { configuration, committed } = committing();
    await started(monitors('a'), { configuration });
    const applied = committed();
    await unlink(path);
    await writeFile(path, monitors('a', 'b'));
    await applied;
    expect(await names()).toHaveLength(2);
  });
});

describe('a database that cannot accept the file now', () => {
  const MANY = Array.from({ length: 200 }, (_, index) => `m${index}`);
  const SECOND = 1_000;

  /** Counts the tries. `next` returns a promise that resolves after the next try, when the file has handled it. */
  function tried(): { configuration: Configuration; count: () => number; next: () => Promise<void> } {
    const { configuration } = parts;
    let count = 0;
    let told = () => {};
    return {
      configuration: {
        transaction: (context, work) =>
          configuration.transaction(context, work).finally(() => {
            count += 1;
            setImmediate(told);
          }),
        releaseFileOwnership: () => configuration.releaseFileOwnership(),
      },
      count: () => count,
      next: () =>
        new Promise((resolve) => {
          told = resolve;
        }),
    };
  }

  test('gets the file again after growing waits, and the status says why it waits', async () => {
    const clock = new FakeClock();
    const { configuration, count, next } = tried();
    const hasRoom = await fillDatabase(parts.store);
    const file = await started(monitors(...MANY), { configuration, clock });
    let wait = SECOND;
    for (const tries of [1, 2, 3, 4, 5, 6, 7, 8, 9]) {
      expect(file.status()).toMatchObject({
        appliedAt: null,
        errors: [],
        waiting: { reason: expect.stringContaining('full'), tries, nextAt: clock.wall() + wait },
      });
      clock.advance(wait - 1);
      expect(count()).toBe(tries);
      const again = next();
      clock.advance(1);
      await again;
      expect(count()).toBe(tries + 1);
      wait = Math.min(2 * wait, 60 * SECOND);
    }
    expect(wait).toBe(60 * SECOND);
    await hasRoom();
    const applied = next();
    clock.advance(wait);
    await applied;
    expect(file.status()).toMatchObject({ waiting: null, errors: [], resources: MANY.length });
    expect(await names()).toHaveLength(MANY.length);
    clock.advance(10 * 60 * SECOND);
    expect(count()).toBe(11);
  });

  test('gets a changed or reloaded file at once, and the waits begin at the shortest again', async () => {
    const clock = new FakeClock();
    const { configuration, next } = tried();
    const hasRoom = await fillDatabase(parts.store);
    const file = await started(monitors(...MANY), { configuration, clock });
    const again = next();
    clock.advance(SECOND);
    await again;
    await file.reload();
    expect(file.status().waiting).toMatchObject({ tries: 1, nextAt: clock.wall() + SECOND });
    await hasRoom();
    await writeFile(path, monitors('a'));
    await file.reload();
    expect(file.status()).toMatchObject({ waiting: null, resources: 1 });
    expect(await names()).toEqual(['svc_tcp_monitor.a']);
  });

  test('gets nothing after the stop', async () => {
    const clock = new FakeClock();
    const { configuration, count } = tried();
    const hasRoom = await fillDatabase(parts.store);
    const file = await started(monitors(...MANY), { configuration, clock });
    await file.stop();
    await hasRoom();
    clock.advance(60 * SECOND);
    expect(count()).toBe(1);
    expect(clock.pendingTimers).toBe(0);
  });

  test('does not hide errors of the file', async () => {
    const clock = new FakeClock();
    await fillDatabase(parts.store);
    const file = await started(monitors(...MANY), { clock });
    await writeFile(path, 'svc_tcp_monitor: { a: { nonsense: 1 } }');
    await file.reload();
    expect(file.status()).toMatchObject({ waiting: null, errors: [{ line: 1 }, {}, {}, {}] });
  });
});

test('a stop during an apply leaves nothing behind', async () => {
  await writeFile(path, monitors('a'));
  const file = declaredFile({ read: readDeclaration });
  const reloaded = file.reload();
  await file.stop();
  await reloaded;
  expect(await names()).toEqual([]);
});

test.each([0, 1, 2, 3, 4])('a reload %i microtasks after the end of an apply is not lost', async (count) => {
  const reloaded = Promise.withResolvers<void>();
  let applies = 0;
  const reloadSoon = async () => {
    for (let turn = 0; turn < count; turn += 1) await null;
    await file.reload();
    reloaded.resolve();
  };
  const write = (line: string) => {
    if (!line.includes('applied the declared file')) return;
    applies += 1;
    if (applies === 1) void reloadSoon();
  };
  await writeFile(path, monitors('a'));
  const file = declaredFile({ log: pino({}, { write }) });
  await file.start();
  await reloaded.promise;
  expect(applies).toBe(2);
});

test('reloads during an apply become one more apply', async () => {
  const file = await started(monitors('a'));
  await writeFile(path, monitors('a', 'b'));
  await Promise.all([file.reload(), file.reload(), file.reload()]);
  expect(file.status().resources).toBe(2);
});
