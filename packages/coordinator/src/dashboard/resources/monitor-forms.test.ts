import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../../test/support/api.ts';
import { DashboardSession } from '../../../../../test/support/dashboard/session.ts';
import type { CheckRunner } from '../../api/api-parts.ts';

const NOT_RUN = {
  ...{ started_at: 0, attempts: [] },
  outcome: 'not_run',
  reason: 'overloaded',
} as const;

test('a trial says in words why a region did not run the check', async () => {
  const checks: CheckRunner = {
    runNow: async () => [{ region: 'hosta-fra', agent: 'fra-1', result: NOT_RUN }],
  };
  const api = await startApi({ checks });
  try {
    const path = '/monitors/new?type=tcp';
    const session = await DashboardSession.open(api);
    const draft = { name: 'Mail', uri: 'mail.example:25', intent: 'try' };
    const { text } = await session.send(path, path, draft);
    expect(text).toContain('the agent had no free place in time');
  } finally {
    await api.dispose();
  }
});

test('the form offers the regions that have an agent first, and chosen ones; the others are folded', async () => {
  const api = await startApi();
  try {
    const agent = {
      ...{ id: 'a1', version: '1', capacity: 10, running: 1, loopDelayMs: 1, machine: '', sicknesses: [] },
      ...{ isDraining: false, lastSeenWall: api.clock.wall() },
    };
    const session = await DashboardSession.open(api);
    const split = async (path: string) => {
      const [first = '', folded = ''] = (await session.get(path)).text.split('Regions without an agent');
      return [first, folded].map((part) =>
        [...part.matchAll(/name="regions" value="([^"]+)"/g)].map(([, id]) => id),
      );
    };
    expect((await split('/monitors/new?type=tcp'))[1]).toEqual([]);
    api.agents.set('hosta-sin', [agent]);
    const [first, folded] = await split('/monitors/new?type=tcp');
    expect(first).toEqual(['hosta-sin']);
    expect(folded).toHaveLength(27);
    const monitor = { type: 'tcp', name: 'Mail', uri: 'mail.example:25', periodicity: '1m' };
    const id = await api.create('/v1/monitors', { ...monitor, regions: ['hostb-par'] });
    expect((await split(`/monitors/${id}/edit?type=tcp`))[0]?.toSorted()).toEqual(['hosta-sin', 'hostb-par']);
  } finally {
    await api.dispose();
  }
});

describe('what is rarely set is folded', () => {
  let api: RunningApi;
  let session: DashboardSession;
  beforeAll(async () => {
    api = await startApi();
    session = await DashboardSession.open(api);
  });
  afterAll(() => api.dispose());

  const PATH = '/monitors/new?type=http';
  /** The summaries of the folded and of the open parts of a form. */
  const parts = (text: string) => {
    const found = [...text.matchAll(/<details class="rarely-set"( open)?>\s*<summary>([^<]+)</g)];
    const of = (isOpen: boolean) =>
      found.filter(([, open]) => (open !== undefined) === isOpen).map(([, , summary = '']) => summary);
    return { folded: of(false), open: of(true) };
  };

  test('in a new form', async () => {
    const { folded, open } = parts((await session.get(PATH)).text);
    expect(open).toEqual([]);
    expect(folded).toEqual([
      'Rarely set: method, headers, body, follow redirects',
      'Rarely set: header assertions, degraded before the certificate expires',
      'Rarely set: timeout, further attempts, regions that must fail, confirm after, recover after',
      'Rarely set: OTLP endpoint, OTLP headers',
    ]);
  });

  test.each([
    ['a value that differs from its default', { retry: '2', intent: 'find regions' }, 'timeout'],
    ['a switch that is off and on by default', { follow_redirects: [], intent: 'find regions' }, 'method'],
    ['a new row', { intent: 'add headers' }, 'method'],
    ['a message', { name: 'Shop', url: 'https://a.example', quorum: 'most', intent: 'save' }, 'timeout'],
  ])('unless it holds %s', async (_, fields, first) => {
    const { open } = parts((await session.send(PATH, PATH, fields)).text);
    expect(open).toEqual([expect.stringContaining(`Rarely set: ${first}`)]);
  });

  test('unless a stored value differs from its default', async () => {
    const monitor = { type: 'http', name: 'Shop', url: 'https://a.example', periodicity: '1m' };
    const path = async (more: object) =>
      `/monitors/${await api.create('/v1/monitors', { ...monitor, ...more })}/edit`;
    expect(parts((await session.get(await path({}))).text).open).toEqual([]);
    const headers = [{ key: 'Authorization', value: 's3cret' }];
    expect(parts((await session.get(await path({ headers }))).text).open).toHaveLength(1);
  });
});

describe('the form says who is alerted', () => {
  let api: RunningApi;
  let session: DashboardSession;
  beforeAll(async () => {
    api = await startApi();
    session = await DashboardSession.open(api);
  });
  afterAll(() => api.dispose());

  const PATH = '/monitors/new?type=tcp';
  const MAIL = { name: 'Mail', uri: 'mail.example:25' };
  const newChannel = (name: string) =>
    api.create('/v1/notifications', {
      ...{ name, provider_type: 'webhook', monitor_ids: [] },
      webhook: { endpoint: 'https://example.com/hook', headers: [{ key: 'Authorization', value: 's3cret' }] },
    });
  const read = async (id: string) =>
    (await api.call('GET', `/v1/notifications/${id}`)).body as Record<string, unknown>;

  test('and that there is nobody yet', async () => {
    const { text } = await session.get(PATH);
    expect(text).toContain('Nobody: there is no channel yet, so nobody is told when it fails.');
    expect(text).toContain('href="/channels/new" target="_blank"');
  });

  test('and links chosen channels, which keep everything else', async () => {
    const [ops, night] = [await newChannel('Ops'), await newChannel('Night shift')];
    const before = await read(ops);
    const { location } = await session.send(PATH, PATH, { ...MAIL, alerted: [ops], intent: 'save' });
    const id = location?.split('/').at(-1) ?? '';
    const { version: _, ...after } = await read(ops);
    expect(after).toEqual({ ...before, monitor_ids: [id] });
    // Chosen channels stay chosen when a button redraws the form, and a copy alerts the same ones.
    const edit = `/monitors/${id}/edit?type=tcp`;
    const redrawn = await session.send(edit, edit, { alerted: [night], intent: 'find regions' });
    expect(redrawn.text).toMatch(new RegExp(`name="alerted" value="${night}" checked`));
    const copy = await session.get(`/monitors/${id}/copy`);
    expect(copy.text).toMatch(new RegExp(`name="alerted" value="${ops}" checked`));
    await session.send(edit, edit, { alerted: [night], intent: 'save' });
    expect(await Promise.all([ops, night].map(async (each) => (await read(each)).monitor_ids))).toEqual([
      [],
      [id],
    ]);
  });

  test('and what went wrong with one of them', async () => {
    const gone = await newChannel('Gone');
    const draft = await session.filled(PATH, PATH, { ...MAIL, alerted: [gone], intent: 'save' });
    await api.call('DELETE', `/v1/notifications/${gone}`);
    const { status, notice } = await session.post(PATH, draft);
    expect([status, notice]).toEqual([
      303,
      expect.stringMatching(/created\. Note: channel \d+ was not changed: /),
    ]);
  });
});
