import { readFile } from 'node:fs/promises';
import { DEFINITIONS, RESOURCE_KINDS, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { MASK } from '@svc/shared/secret.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { attributes } from '../../../../test/support/attributes.ts';
import { type ConfiguredStore, configuredStore } from '../../../../test/support/configured-store.ts';
import { IS_POSTGRES } from '../../../../test/support/database.ts';
import { ownedByFile } from '../../../../test/support/owned-by-file.ts';
import { addRows, addWorkspace, changeRow, rowsOf } from '../../../../test/support/store-rows.ts';
import type { LiveMonitor } from '../verdict/monitor.ts';
import { ONLY_SHARD } from '../verdict/shard.ts';
import type { Actor, ConfigurationChange } from './configuration.ts';
import { Conflict, Immutable, InvalidReference, NotFound, PreconditionFailed } from './errors.ts';
import { type MonitorKind, TABLE_OF } from './kinds/kind-tables.ts';
import { MonitorsInMemory } from './live-monitors.ts';

let parts: ConfiguredStore;

beforeEach(async () => {
  parts = await configuredStore();
});
afterEach(() => parts.dispose());

function change<T>(work: (change: ConfigurationChange) => Promise<T>, actor: Actor = 'api'): Promise<T> {
  return parts.configuration.transaction({ workspaceId: parts.workspaceId, actor }, work);
}

const create = <K extends ResourceKind>(kind: K, members: Record<string, unknown> = {}) =>
  change((open) => open.create(kind, attributes(kind, members)));

const declare = <K extends ResourceKind>(kind: K, localName: string, members: Record<string, unknown> = {}) =>
  change((open) => open.create(kind, attributes(kind, members), { localName }), 'file');

const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  );

const monitorRow = async (id: number) => (await rowsOf(parts.store, 'monitors', { id }))[0];

describe('every kind', () => {
  const MEMBERS: { [K in ResourceKind]: Record<string, unknown> } = {
    svc_http_monitor: {
      url: 'https://probe:hush-6@example.com/health?key=hush-8',
      body: 'hush-9',
      headers: [{ key: 'Authorization', value: 'hush-1' }],
      otlp_endpoint: 'https://otlp.example.com/?key=hush-10',
      otlp_headers: { tenant: 'hush-2' },
      regions: ['hosta-fra'],
      body_assertions: [{ target: 'ok', comparator: 'contains' }],
      active: true,
    },
    svc_tcp_monitor: { description: 'a' },
    svc_dns_monitor: { record_assertions: [{ record: 'A', target: '192.0.2.1', comparator: 'eq' }] },
    svc_notification: {
      provider_type: 'webhook',
      email: null,
      webhook: {
        endpoint: 'https://alerts:hush-7@example.com/hush-3',
        headers: [{ key: 'X-Key', value: 'hush-4' }],
      },
      monitor_ids: ['1', '2'],
    },
    svc_status_page: { access_type: 'password', password: 'hush-5', custom_domain: 'status.example.com' },
    svc_status_page_component_group: { page_id: '1' },
    svc_status_page_component: { page_id: '1', type: 'monitor', monitor_id: '1', group_id: '1', order: 3 },
  };
  const ORDER = Object.keys(MEMBERS) as ResourceKind[];

  const createAll = () =>
    change(async (open) => {
      for (const kind of ORDER) {
        await open.create(kind, attributes(kind, MEMBERS[kind]), { localName: `a-${kind}` });
      }
    }, 'file');

  test('reads as it was written', async () => {
    await createAll();
    const owned = await ownedByFile(parts.store, parts.secrets, parts.workspaceId);
    expect(owned.map(({ kind }) => kind).sort()).toEqual([...ORDER].sort());
    for (const entry of owned) {
      expect(entry.attributes, entry.kind).toEqual(attributes(entry.kind, MEMBERS[entry.kind]));
      expect(entry.localName).toBe(`a-${entry.kind}`);
    }
  });

  test('an attribute that names resources names all kinds of their table', () => {
    for (const { kind, attributes } of Object.values(DEFINITIONS)) {
      for (const [name, { value }] of Object.entries(attributes)) {
        const named = RESOURCE_KINDS.filter((other) => value.references?.includes(other));
        const tables = new Set(named.map((other) => TABLE_OF[other]));
        const whole = RESOURCE_KINDS.filter((other) => tables.has(TABLE_OF[other]));
        expect({ kind, name, named }).toEqual({ kind, name, named: whole });
        expect(tables.size).toBeLessThanOrEqual(1);
      }
    }
  });

  test.each([
    ['no JSON', '{', ''],
    ['no mapping', '"a"', ''],
    ['an attribute of another form', '{"periodicity":["hush-1"]}', ' at periodicity'],
  ])('a row that is not what svc writes (%s) is refused without its text', async (_what, json, at) => {
    const id = await create('svc_tcp_monitor');
    const row = await monitorRow(id);
    const kept: object = JSON.parse(row?.attributes ?? '{}');
    const text = at === '' ? json : JSON.stringify({ ...kept, ...JSON.parse(json) });
    await changeRow(parts.store, 'monitors', id, { attributes: text });
    const error = await errorOf(
      parts.reading.findStored('monitors', { workspaceId: parts.workspaceId }, id, 'open'),
    );
    expect(error).toMatchObject({
      code: 'store-unreadable',
      message: `database: the stored svc_tcp_monitor ${id} does not have the form that this version of svc writes${at}`,
    });
    expect(await errorOf(MonitorsInMemory.load(parts.store, parts.secrets))).toMatchObject({
      code: 'store-unreadable',
    });
  });

  test('a monitor of an unknown type, from a newer version, is an error that says so', async () => {
    const id = await create('svc_tcp_monitor');
    await parts.store.transaction((tx) => tx.query("UPDATE monitors SET type = 'ping'"));
    expect(await errorOf(MonitorsInMemory.load(parts.store, parts.secrets))).toMatchObject({
      code: 'store-unreadable',
      message: `database: monitor ${id} is of the type "ping", which this version of svc does not know`,
    });
  });

  test('monitors that are loaded again are parsed again only if their rows have changed', async () => {
    const [kept, changed, removed] = [
      await create('svc_tcp_monitor'),
      await create('svc_tcp_monitor'),
      await create('svc_tcp_monitor'),
    ];
    const { store, secrets } = parts;
    const reload = (former: MonitorsInMemory) => former.reload(store, secrets, ONLY_SHARD);
    const first = await reload(new MonitorsInMemory());
    const all = [...(await MonitorsInMemory.load(store, secrets)).values()];
    expect([...first.values()].map(({ id, name }) => [id, name])).toEqual(
      all.map(({ id, name }) => [id, name]),
    );
    parts.clock.advance(1_000);
    await change((open) =>
      open.update('svc_tcp_monitor', changed, attributes('svc_tcp_monitor', { name: 'B' })),
    );
    await change((open) => open.removeMonitors([removed]));
    const added = await create('svc_tcp_monitor');
    const second = await reload(first);
    expect(second.get(kept)).toBe(first.get(kept));
    expect([second.get(changed)?.name, second.get(removed), second.get(added)?.id]).toEqual([
      'B',
      undefined,
      added,
    ]);
    expect(second.size).toBe(3);
    // A monitor that was replaced in memory may differ from its row.
    second.replace(second.get(kept) ?? null, { ...(second.get(kept) as LiveMonitor), name: 'other' });
    expect((await reload(second)).get(kept)?.name).toBe(first.get(kept)?.name);
    first.forgetVersions();
    const anew = (await reload(first)).get(kept);
    expect(anew).toEqual(first.get(kept));
    expect(anew).not.toBe(first.get(kept));
  });

  test('equal attributes write nothing', async () => {
    await createAll();
    const before = await ownedByFile(parts.store, parts.secrets, parts.workspaceId);
    parts.clock.advance(1_000);
    await change(async (open) => {
      for (const { kind, id } of before) await open.update(kind, id, attributes(kind, MEMBERS[kind]));
    }, 'file');
    expect(await ownedByFile(parts.store, parts.secrets, parts.workspaceId)).toEqual(before);
  });

  // The files of PostgreSQL are the server's. Rows are sealed before they reach either database.
  test.skipIf(IS_POSTGRES)('no secret is in the files of the database', async () => {
    await createAll();
    for (const file of [parts.database.file, `${parts.database.file}-wal`]) {
      expect((await readFile(file)).toString('latin1')).not.toMatch(/hush-\d/);
    }
    expect((await readFile(`${parts.database.file}-wal`)).toString('latin1')).toContain('otlp.example.com');
  });

  test('masked reading shows no secrets, and all other attributes', async () => {
    await createAll();
    const page = { limit: 10, offset: 0 };
    const { workspaceId, reading } = parts;
    const monitors = await reading.listStored('monitors', { workspaceId }, page, 'masked');
    const notifications = await reading.listStored('notifications', { workspaceId }, page, 'masked');
    const pages = await reading.listStored('status_pages', { workspaceId }, page, 'masked');
    const all = JSON.stringify([monitors, notifications, pages]);
    expect(all).not.toMatch(/hush-/);
    expect(monitors.data[0]?.attributes).toMatchObject({
      url: 'https://********@example.com/health?********',
      body: MASK,
      otlp_endpoint: 'https://otlp.example.com/?********',
      headers: [{ key: 'Authorization', value: MASK }],
      otlp_headers: { tenant: MASK },
    });
    expect(pages.data[0]?.attributes.password).toBe(MASK);
    expect(monitors.total).toBe(3);
    expect(await reading.findStored('monitors', { workspaceId }, 1, 'open')).toMatchObject({
      attributes: {
        url: 'https://probe:hush-6@example.com/health?key=hush-8',
        body: 'hush-9',
        headers: [{ key: 'Authorization', value: 'hush-1' }],
      },
    });
  });

  test('the target that alerts show has no user information', async () => {
    await createAll();
    const [monitor] = (await MonitorsInMemory.load(parts.store, parts.secrets)).values();
    expect(monitor?.target).toBe('https://example.com/health?key=hush-8');
    expect(monitor?.checkText.reveal()).toContain('https://probe:hush-6@example.com/health?key=hush-8');
  });

  test('is removed, and a page together with its components and groups', async () => {
    await createAll();
    await change((open) => open.remove('svc_status_page', 1), 'file');
    for (const table of ['status_pages', 'components', 'component_groups'] as const) {
      expect(await rowsOf(parts.store, table)).toEqual([]);
    }
    await change(async (open) => {
      await open.remove('svc_notification', 1);
      await open.remove('svc_http_monitor', 1);
      await open.remove('svc_tcp_monitor', 2);
      await open.remove('svc_dns_monitor', 3);
    }, 'file');
    expect(await ownedByFile(parts.store, parts.secrets, parts.workspaceId)).toEqual([]);
    expect(parts.monitors.size).toBe(0);
  });
});

describe('atomicity', () => {
  test('a change that fails leaves rows, memory and listeners as they were', async () => {
    const id = await create('svc_http_monitor');
    const before = parts.monitors.get(id);
    const heard: unknown[] = [];
    parts.monitors.onChange((...both) => heard.push(both));
    const failing = change(async (open) => {
      await open.create('svc_tcp_monitor', attributes('svc_tcp_monitor'));
      await open.update('svc_http_monitor', id, attributes('svc_http_monitor', { name: 'b' }));
      await open.remove('svc_http_monitor', 99);
    });
    expect(await errorOf(failing)).toBeInstanceOf(NotFound);
    expect(
      (
        await parts.reading.listStored(
          'monitors',
          { workspaceId: parts.workspaceId },
          { limit: 9, offset: 0 },
          'open',
        )
      ).total,
    ).toBe(1);
    expect((await monitorRow(id))?.name).toBe('a');
    expect([...parts.monitors.values()]).toEqual([before]);
    expect(heard).toEqual([]);
  });

  test('memory follows the commit, before the transaction answers', async () => {
    const heard: [string | null, string | null][] = [];
    parts.monitors.onChange((before, after) => heard.push([before?.name ?? null, after?.name ?? null]));
    const id = await change(async (open) => {
      const made = await open.create('svc_http_monitor', attributes('svc_http_monitor'));
      expect(parts.monitors.size).toBe(0);
      return made;
    });
    await change((open) =>
      open.update('svc_http_monitor', id, attributes('svc_http_monitor', { name: 'b' })),
    );
    await change((open) => open.remove('svc_http_monitor', id));
    expect(heard).toEqual([
      [null, 'a'],
      ['a', 'b'],
      ['b', null],
    ]);
    expect(parts.monitors.size).toBe(0);
  });

  test('several changes of one monitor leave the last one in memory', async () => {
    const heard: (string | undefined)[] = [];
    parts.monitors.onChange((_before, after) => heard.push(after?.name));
    await change(async (open) => {
      const id = await open.create('svc_http_monitor', attributes('svc_http_monitor'));
      await open.update('svc_http_monitor', id, attributes('svc_http_monitor', { name: 'b' }));
      const gone = await open.create('svc_http_monitor', attributes('svc_http_monitor'));
      await open.remove('svc_http_monitor', gone);
    });
    expect(heard).toEqual(['b']);
  });

  test('a change cannot be used after its end', async () => {
    const open = await change(async (given) => given);
    expect(await errorOf(open.create('svc_tcp_monitor', attributes('svc_tcp_monitor')))).toBeInstanceOf(
      Error,
    );
  });
});

describe('monitors', () => {
  test.each<[string, Record<string, unknown>, 0 | 1]>([
    ['name', { name: 'b' }, 0],
    ['description', { description: 'b' }, 0],
    ['public', { public: true }, 0],
    ['periodicity', { periodicity: '5m' }, 0],
    ['regions', { regions: ['hosta-fra'] }, 0],
    ['url', { url: 'https://example.org' }, 1],
    ['a header value', { headers: [{ key: 'A', value: 'b' }] }, 1],
    ['retry', { retry: 1 }, 1],
    ['timeout', { timeout: 1_000 }, 1],
    ['an assertion', { status_code_assertions: [{ target: 204, comparator: 'eq' }] }, 1],
  ])('a change of %s raises the version only if the attribute is probed', async (_, members, moved) => {
    const id = await create('svc_http_monitor');
    await change((open) => open.update('svc_http_monitor', id, attributes('svc_http_monitor', members)));
    expect(parts.monitors.get(id)?.version).toBe(1 + moved);
    expect(await monitorRow(id)).toMatchObject({ probe_version: 1 + moved, row_version: 2 });
  });

  test('a monitor is activated when it is created, switched on, or gets other probed attributes', async () => {
    const id = await create('svc_http_monitor');
    const created = parts.clock.wall();
    const set = (members: Record<string, unknown>) => {
      parts.clock.advance(1_000);
      return change((open) => open.update('svc_http_monitor', id, attributes('svc_http_monitor', members)));
    };
    await set({ name: 'b' });
    expect(parts.monitors.get(id)).toMatchObject({ active: false, activatedAt: created });
    await set({ active: true });
    expect(parts.monitors.get(id)).toMatchObject({ active: true, activatedAt: created + 2_000 });
    await set({ active: true, name: 'c' });
    expect(parts.monitors.get(id)?.activatedAt).toBe(created + 2_000);
    await set({ active: true, name: 'c', url: 'https://example.com/other' });
    expect(parts.monitors.get(id)?.activatedAt).toBe(created + 4_000);
  });

  test('instants are whole milliseconds, whatever the clock says', async () => {
    parts.clock.advance(0.75);
    const id = await create('svc_http_monitor');
    const now = Math.floor(parts.clock.wall());
    expect(await monitorRow(id)).toMatchObject({ created_at: now, updated_at: now, activated_at: now });
  });

  test('monitors in memory equal those that a start loads', async () => {
    await create('svc_http_monitor', { headers: [{ key: 'A', value: 'hush' }], timeout: 0, retry: 2 });
    await create('svc_tcp_monitor', { active: true, regions: ['hostb-par', 'hosta-fra'] });
    await create('svc_dns_monitor');
    const byId = (monitors: Iterable<LiveMonitor>) => [...monitors].sort((a, b) => a.id - b.id);
    const loaded = await MonitorsInMemory.load(parts.store, parts.secrets);
    expect(byId(loaded.values())).toEqual(byId(parts.monitors.values()));
    expect(loaded.get(1)).toMatchObject({ periodMs: 60_000, target: 'https://example.com' });
    expect(JSON.parse(loaded.get(1)?.checkText.reveal() ?? '')).toMatchObject({
      timeout: 45_000,
      headers: [{ key: 'A', value: 'hush' }],
    });
  });

  test.each<MonitorKind>(['svc_tcp_monitor', 'svc_dns_monitor'])('an HTTP monitor is no %s', async (kind) => {
    const id = await create('svc_http_monitor');
    expect(await errorOf(change((open) => open.update(kind, id, attributes(kind))))).toBeInstanceOf(NotFound);
    expect(await errorOf(change((open) => open.remove(kind, id)))).toBeInstanceOf(NotFound);
  });

  test('a monitor that a component shows is not removed, unless its components are removed too', async () => {
    const id = await create('svc_http_monitor');
    await create('svc_status_page');
    await create('svc_status_page_component', { type: 'monitor', monitor_id: String(id) });
    const refused = await errorOf(change((open) => open.remove('svc_http_monitor', id)));
    expect(refused).toBeInstanceOf(Conflict);
    expect(refused).toMatchObject({
      reason: 'in-use',
      message: expect.stringContaining('component 1 of status page 1'),
    });
    await change((open) => open.remove('svc_http_monitor', id, { shownBy: 'remove' }));
    expect(
      await parts.reading.findStored('components', { workspaceId: parts.workspaceId, pageId: 1 }, 1, 'open'),
    ).toBeNull();
  });

  test('a monitor that a component shows can be removed while the component stays and shows nothing', async () => {
    const id = await create('svc_http_monitor');
    await create('svc_status_page');
    await create('svc_status_page_component', { type: 'monitor', monitor_id: String(id), name: 'Shop' });
    await change((open) => open.remove('svc_http_monitor', id, { shownBy: 'keep' }));
    expect(
      await parts.reading.findStored('components', { workspaceId: parts.workspaceId, pageId: 1 }, 1, 'open'),
    ).toMatchObject({
      rowVersion: 2,
      attributes: { type: 'monitor', monitor_id: null, name: 'Shop' },
    });
    expect(
      await parts.reading.findStored('monitors', { workspaceId: parts.workspaceId }, id, 'open'),
    ).toBeNull();
  });

  test('many monitors are created and removed at once, with the components that show them', async () => {
    const names = Array.from({ length: 600 }, (_, index) => `m${index}`);
    const entries = names.map((name) => ({ attributes: attributes('svc_tcp_monitor', { name }) }));
    const ids = await change((open) => open.createAll('svc_tcp_monitor', entries));
    expect(ids.map((id) => parts.monitors.get(id)?.name)).toEqual(names);
    const http = await create('svc_http_monitor');
    await create('svc_status_page');
    await create('svc_status_page_component', { type: 'monitor', monitor_id: String(http) });
    await create('svc_notification', { monitor_ids: [String(ids[0]), String(ids[1]), String(ids[2])] });

    const unknown = change((open) => open.removeMonitors([...ids, http, 9_999]));
    expect(await errorOf(unknown)).toBeInstanceOf(NotFound);
    expect(parts.monitors.size).toBe(601);

    await change((open) => open.removeMonitors([...ids.slice(1), http]));
    expect([...parts.monitors.values()].map(({ name }) => name)).toEqual(['m0']);
    expect(
      await parts.reading.findStored('components', { workspaceId: parts.workspaceId, pageId: 1 }, 1, 'open'),
    ).toBeNull();
    expect(
      await parts.reading.findStored('notifications', { workspaceId: parts.workspaceId }, 1, 'open'),
    ).toMatchObject({
      rowVersion: 2,
      attributes: { monitor_ids: [String(ids[0])] },
    });
  });

  test('the removal of a monitor changes the channels to which it was linked', async () => {
    const [gone, stays] = [await create('svc_http_monitor'), await create('svc_tcp_monitor')];
    const id = await create('svc_notification', { monitor_ids: [String(gone), String(stays)] });
    await change((open) => open.remove('svc_http_monitor', gone));
    const notification = await parts.reading.findStored(
      'notifications',
      { workspaceId: parts.workspaceId },
      id,
      'open',
    );
    expect(notification).toMatchObject({ rowVersion: 2, attributes: { monitor_ids: [String(stays)] } });
  });
});

describe('references', () => {
  test.each<[string, ResourceKind, Record<string, unknown>, (string | number)[]]>([
    ['a channel of an unknown monitor', 'svc_notification', { monitor_ids: ['1', '9'] }, ['monitor_ids', 1]],
    ['a component of an unknown page', 'svc_status_page_component', { page_id: '9' }, ['page_id']],
    ['a group of an unknown page', 'svc_status_page_component_group', { page_id: '9' }, ['page_id']],
    [
      'a component of an unknown monitor',
      'svc_status_page_component',
      { type: 'monitor', monitor_id: '9' },
      ['monitor_id'],
    ],
    ['a component in an unknown group', 'svc_status_page_component', { group_id: '9' }, ['group_id']],
    ['a component in a group of another page', 'svc_status_page_component', { group_id: '1' }, ['group_id']],
  ])('%s is refused with its place', async (_, kind, members, path) => {
    await create('svc_http_monitor');
    await create('svc_status_page');
    await create('svc_status_page', { slug: 'b' });
    await create('svc_status_page_component_group', { page_id: '2' });
    const error = await errorOf(create(kind, members));
    expect(error).toBeInstanceOf(InvalidReference);
    expect(error).toMatchObject({ path });
  });

  test('resources of another workspace are not found', async () => {
    const other = await addWorkspace(parts.store, 'other');
    const id = await create('svc_http_monitor');
    const elsewhere = <T>(work: (open: ConfigurationChange) => Promise<T>) =>
      errorOf(parts.configuration.transaction({ workspaceId: other, actor: 'api' }, work));
    expect(await elsewhere((open) => open.remove('svc_http_monitor', id))).toBeInstanceOf(NotFound);
    expect(await elsewhere((open) => open.removeMonitors([id]))).toBeInstanceOf(NotFound);
    expect(
      await elsewhere((open) =>
        open.create('svc_notification', attributes('svc_notification', { monitor_ids: ['1'] })),
      ),
    ).toBeInstanceOf(InvalidReference);
    expect(
      await elsewhere(async (open) => {
        await open.create('svc_status_page', attributes('svc_status_page'));
        const members = { type: 'monitor', monitor_id: String(id) };
        await open.create('svc_status_page_component', attributes('svc_status_page_component', members));
      }),
    ).toBeInstanceOf(InvalidReference);
    expect(await parts.reading.findStored('monitors', { workspaceId: other }, id, 'open')).toBeNull();
    // Slugs are unique across workspaces.
    await create('svc_status_page');
    expect(
      await elsewhere((open) => open.create('svc_status_page', attributes('svc_status_page'))),
    ).toMatchObject({ reason: 'taken', path: ['slug'] });
  });

  test('the page of a component cannot be changed', async () => {
    await create('svc_status_page');
    await create('svc_status_page', { slug: 'b' });
    const id = await create('svc_status_page_component');
    const moved = attributes('svc_status_page_component', { page_id: '2' });
    const error = await errorOf(change((open) => open.update('svc_status_page_component', id, moved)));
    expect(error).toBeInstanceOf(Immutable);
    expect(error).toMatchObject({ path: ['page_id'] });
  });

  test('the components of a removed group stay, without a group', async () => {
    await create('svc_status_page');
    const group = await create('svc_status_page_component_group');
    const id = await create('svc_status_page_component', { group_id: String(group) });
    await change((open) => open.remove('svc_status_page_component_group', group));
    const component = await parts.reading.findStored(
      'components',
      { workspaceId: parts.workspaceId, pageId: 1 },
      id,
      'open',
    );
    expect(component).toMatchObject({ rowVersion: 2, attributes: { group_id: null } });
  });
});

describe('versions and owners', () => {
  test('a write with an old version is refused', async () => {
    const id = await create('svc_http_monitor');
    const update = (name: string, expectedVersion: number) =>
      change((open) =>
        open.update('svc_http_monitor', id, attributes('svc_http_monitor', { name }), {
          expectedVersions: [expectedVersion],
        }),
      );
    await update('b', 1);
    expect(await errorOf(update('c', 1))).toBeInstanceOf(PreconditionFailed);
    expect(
      await errorOf(change((open) => open.remove('svc_http_monitor', id, { expectedVersions: [1] }))),
    ).toBeInstanceOf(PreconditionFailed);
    await update('c', 2);
    expect((await monitorRow(id))?.name).toBe('c');
  });

  test('the API cannot change resources of the file until the file is gone', async () => {
    const id = await declare('svc_http_monitor', 'api');
    const update = () =>
      change((open) => open.update('svc_http_monitor', id, attributes('svc_http_monitor', { name: 'b' })));
    expect(await errorOf(update())).toMatchObject({
      code: 'conflict',
      reason: 'declared-in-file',
      message: expect.stringContaining('is declared in monitors.yaml as "api"'),
    });
    expect(await errorOf(change((open) => open.remove('svc_http_monitor', id)))).toBeInstanceOf(Conflict);
    expect(await parts.configuration.releaseFileOwnership()).toBe(1);
    await update();
    expect(await monitorRow(id)).toMatchObject({ name: 'b', owner: null, local_name: 'api' });
  });

  test('the file takes over existing resources', async () => {
    const id = await create('svc_http_monitor');
    const declared = { localName: 'api' };
    await change(
      (open) => open.update('svc_http_monitor', id, attributes('svc_http_monitor'), { declared }),
      'file',
    );
    expect(await monitorRow(id)).toMatchObject({ owner: 'file', local_name: 'api' });
  });

  test('the API cannot change or remove a component of the file by removing its monitor, page or group', async () => {
    const monitor = await create('svc_http_monitor');
    const page = await create('svc_status_page');
    const group = await create('svc_status_page_component_group');
    const members = { type: 'monitor', monitor_id: String(monitor), group_id: String(group) };
    await declare('svc_status_page_component', 'line', members);
    for (const work of [
      (open: ConfigurationChange) => open.remove('svc_http_monitor', monitor, { shownBy: 'remove' }),
      (open: ConfigurationChange) => open.remove('svc_http_monitor', monitor, { shownBy: 'keep' }),
      (open: ConfigurationChange) => open.remove('svc_status_page', page),
      (open: ConfigurationChange) => open.remove('svc_status_page_component_group', group),
    ]) {
      expect(await errorOf(change(work))).toMatchObject({ reason: 'declared-in-file' });
    }
  });

  test('the appearance of a page can be set even if the file owns the page', async () => {
    const id = await declare('svc_status_page', 'main');
    expect(
      await parts.reading.findStored('status_pages', { workspaceId: parts.workspaceId }, id, 'open'),
    ).toMatchObject({
      published: true,
      theme: 'system',
    });
    await change((open) => open.setAppearance(id, { published: false, theme: 'dark' }));
    const page = await parts.reading.findStored(
      'status_pages',
      { workspaceId: parts.workspaceId },
      id,
      'open',
    );
    expect(page).toMatchObject({ published: false, theme: 'dark', owner: 'file', rowVersion: 2 });
  });

  test('a channel that changes its kind counts as one that got no alert', async () => {
    const monitor = await create('svc_http_monitor');
    const monitor_ids = [String(monitor)];
    const id = await create('svc_notification', { monitor_ids });
    const told = () => rowsOf(parts.store, 'links');
    await parts.store.transaction(({ db }) =>
      db.updateTable('links').set({ announced: 'error', incident: 'open' }).execute(),
    );
    for (const incident of ['open', 'over'])
      await addRows(parts.store, 'delivery_threads', { notification_id: id, incident, thread: 'x', at: 1 });
    const email = { email: 'b@example.com' };
    await change((open) =>
      open.update('svc_notification', id, attributes('svc_notification', { monitor_ids, email })),
    );
    expect(await told()).toMatchObject([{ announced: 'error', incident: 'open' }]);
    const webhook = { endpoint: 'https://example.com/hook' };
    const members = { monitor_ids, provider_type: 'webhook', email: null, webhook };
    await change((open) => open.update('svc_notification', id, attributes('svc_notification', members)));
    expect(await told()).toMatchObject([{ monitor_id: monitor, announced: 'active', incident: null }]);
    expect(await rowsOf(parts.store, 'delivery_threads')).toMatchObject([{ incident: 'over' }]);
  });

  test('a failing channel is tried again after a change of its settings', async () => {
    const id = await create('svc_notification');
    await change((open) => open.setChannelState(id, 'failing', 'SVC_SMTP_URL is not set'));
    expect(
      await parts.reading.findStored('notifications', { workspaceId: parts.workspaceId }, id, 'open'),
    ).toMatchObject({
      state: 'failing',
      stateReason: 'SVC_SMTP_URL is not set',
      rowVersion: 1,
    });
    const settings = attributes('svc_notification', { email: { email: 'b@example.com' } });
    await change((open) => open.update('svc_notification', id, settings));
    expect(
      await parts.reading.findStored('notifications', { workspaceId: parts.workspaceId }, id, 'open'),
    ).toMatchObject({
      state: 'ok',
      stateReason: null,
    });
  });
});

describe('long changes', () => {
  const COUNT = 5_000;

  test('the event loop turns while 5,000 monitors are applied', async () => {
    let turns = 0;
    let isDone = false;
    const turn = () => {
      turns += 1;
      if (!isDone) setImmediate(turn);
    };
    const ids: number[] = [];
    const applying = change(async (open) => {
      for (let index = 0; index < COUNT; index += 1) {
        const monitor = attributes('svc_http_monitor', { name: `m${index}` });
        ids.push(await open.create('svc_http_monitor', monitor, { localName: `m${index}` }));
      }
      const monitor_ids = ids.map(String);
      await open.create('svc_notification', attributes('svc_notification', { monitor_ids }), {
        localName: 'ops',
      });
    }, 'file');
    turn();
    await applying;
    isDone = true;
    // The event loop gets a turn after about 5 ms of work. 5,000 monitors take at least
    // 20 µs each, so they need 20 turns. The test requires half of them.
    expect(turns).toBeGreaterThan(10);
    expect(parts.monitors.size).toBe(COUNT);

    const owned = await ownedByFile(parts.store, parts.secrets, parts.workspaceId);
    expect(owned).toHaveLength(COUNT + 1);
  });
});
