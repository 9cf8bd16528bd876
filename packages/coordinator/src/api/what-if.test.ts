import type { Comparison, WhatIf } from '@svc/coordinator/history/what-if/compare.ts';
import { WhatIfs } from '@svc/coordinator/history/what-if/what-ifs.ts';
import { SvcError } from '@svc/shared/errors.ts';
import { Secret } from '@svc/shared/secret.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';

const NO_TIMES = { active: 0, degraded: 0, error: 0, unknown: 0, maintenance: 0 };
const COMPARED: Comparison = {
  from: 1_000,
  until: 101_000,
  actual: {
    times: { ...NO_TIMES, active: 99_000, error: 1_000 },
    changes: [
      { from: 'active', to: 'error', reason: 'majority-failed', at: 2_000 },
      { from: 'error', to: 'active', reason: 'all-passed', at: 3_000 },
    ],
    alerts: [
      { notificationId: 7, status: 'error', at: 2_001 },
      { notificationId: 7, status: 'recovered', at: 3_001 },
    ],
  },
  replayed: { times: { ...NO_TIMES, active: 100_000 }, changes: [], alerts: [] },
};

const NEVER = new AbortController().signal;

let api: RunningApi;
let asked: WhatIf[];
let signals: AbortSignal[];
let answer: () => Promise<Comparison | null>;

beforeAll(async () => {
  api = await startApi({
    whatIfs: {
      compare(whatIf, signal) {
        asked.push(whatIf);
        signals.push(signal);
        return answer();
      },
    },
  });
});

beforeEach(() => {
  asked = [];
  signals = [];
  answer = async () => COMPARED;
});

afterAll(() => api.dispose());

const MONITOR = {
  type: 'http',
  name: 'Replayed',
  url: 'https://example.com/',
  periodicity: '30s',
  active: true,
  retry: 2,
  timeout: 5_000,
};

async function whatIf(body: unknown, headers?: Record<string, string>) {
  const { body: made } = await api.call('POST', '/v1/monitors', MONITOR);
  return api.call('POST', `/v1/monitors/${(made as { id: string }).id}/what-if`, body, headers);
}

describe('a what-if', () => {
  test('answers what happened and what would have happened, newest first', async () => {
    const { status, body } = await whatIf({ days: 7, retry: 1, degraded_at: 0, regions: ['hosta-fra'] });
    expect([status, body]).toEqual([
      200,
      {
        from: 1_000,
        until: 101_000,
        actual: {
          uptime: 99,
          time: { ...NO_TIMES, active: 99_000, error: 1_000 },
          transition_count: 2,
          transitions: COMPARED.actual.changes.toReversed(),
          alert_count: 2,
          alerts: [
            { notification_id: '7', status: 'recovered', at: 3_001 },
            { notification_id: '7', status: 'error', at: 2_001 },
          ],
        },
        what_if: {
          ...{ uptime: 100, time: { ...NO_TIMES, active: 100_000 } },
          ...{ transition_count: 0, transitions: [], alert_count: 0, alerts: [] },
        },
      },
    ]);
    expect(asked).toMatchObject([
      {
        settings: { retry: 1, degradedAtMs: 0, regions: ['hosta-fra'] },
        timeoutMs: 5_000,
      },
    ]);
    const [{ from, until }] = asked as [WhatIf];
    expect(until - from).toBe(7 * 86_400_000);
  });

  test.each([
    ['a number of regions', 2, 2],
    ['a number of regions as a monitor answers it', '2', 2],
    ['a word', 'any', 'any'],
  ])('takes a quorum of %s, and slots in a row', async (_name, quorum, expected) => {
    const { status } = await whatIf({ quorum, confirm_after: 2, recover_after: 10 });
    expect(status).toBe(200);
    expect(asked).toMatchObject([{ settings: { quorum: expected, confirmAfter: 2, recoverAfter: 10 } }]);
  });

  test.each([0.5, 1_000_000])('takes %d as `degraded_at`, as a monitor does', async (degradedAt) => {
    const { body: made } = await api.call('POST', '/v1/monitors', { ...MONITOR, degraded_at: degradedAt });
    expect(made).toMatchObject({ degraded_at: degradedAt });
    const path = `/v1/monitors/${(made as { id: string }).id}/what-if`;
    expect(await api.call('POST', path, { degraded_at: degradedAt })).toMatchObject({ status: 200 });
  });

  test.each([
    ['a quorum of nobody', { quorum: 0 }, '/quorum', 'is 0, but must be from 1 to 28'],
    ['a quorum of too many', { quorum: 29 }, '/quorum', 'is 29, but must be from 1 to 28'],
    [
      'an unknown quorum',
      { quorum: 'some' },
      '/quorum',
      'must be majority, any, all or a number from 1 to 28',
    ],
    ['eleven slots in a row', { confirm_after: 11 }, '/confirm_after', 'is 11, but must be from 1 to 10'],
    ['more retries than were made', { retry: 3 }, '/retry', 'must be at most 2: no more attempts were made'],
    ['15 days', { days: 15 }, '/days', 'must be at most 14'],
    ['no region', { regions: [] }, '/regions', 'must name a region'],
    ['an unknown region', { regions: ['mars'] }, '/regions/0', 'is not a region'],
  ])('with %s is refused', async (_name, body, pointer, message) => {
    const refused = await whatIf(body);
    expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer, message }] } });
    expect(asked).toEqual([]);
  });

  test('with a region that the monitor lacks is refused: it has no results', async () => {
    const declared = { ...MONITOR, regions: ['hosta-fra', 'hosta-iad'] };
    const { body: made } = await api.call('POST', '/v1/monitors', declared);
    const path = `/v1/monitors/${(made as { id: string }).id}/what-if`;
    const body = { retry: 3, regions: ['hosta-iad', 'hostb-par', 'hosta-ams'] };
    const message = 'must be a region of the monitor: hosta-fra, hosta-iad';
    expect(await api.call('POST', path, body)).toMatchObject({
      status: 422,
      body: {
        errors: [
          { pointer: '/retry', message: 'must be at most 2: no more attempts were made' },
          { pointer: '/regions/1', message },
          { pointer: '/regions/2', message },
        ],
      },
    });
    expect(asked).toEqual([]);
    expect((await api.call('POST', path, { regions: ['hosta-iad'] })).status).toBe(200);
  });

  test('is open to a read token, and leaves no line in the audit trail', async () => {
    const { body: made } = await api.call('POST', '/v1/monitors', MONITOR);
    const reader = { authorization: `Bearer ${api.reader}` };
    const path = `/v1/monitors/${(made as { id: string }).id}/what-if`;
    expect((await api.call('POST', path, {}, reader)).status).toBe(200);
    const { body } = await api.call('GET', '/v1/audit?limit=100');
    const actions = (body as { data: { action: string }[] }).data.map(({ action }) => action);
    expect(actions).not.toContain('what-if');
  });

  test('of a monitor that does not exist is 404', async () => {
    expect((await api.call('POST', '/v1/monitors/99999/what-if', {})).status).toBe(404);
  });

  test('says that nothing can be replayed yet, or that a replay failed', async () => {
    answer = async () => null;
    expect(await whatIf({})).toMatchObject({ status: 409 });
    answer = () => Promise.reject(new SvcError('what-if-failed', 'the replay failed'));
    expect(await whatIf({})).toMatchObject({ status: 503 });
  });
});

test('a replay ends when its visitor leaves, and the workspace may start another one', async () => {
  const { body: made } = await api.call('POST', '/v1/monitors', MONITOR);
  const path = `/v1/monitors/${(made as { id: string }).id}/what-if`;
  const leaving = new AbortController();
  const ended = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  answer = async () => {
    const signal = signals.at(-1);
    if (signal === undefined) throw new Error('no signal was given');
    begun.resolve();
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    ended.resolve();
    throw new SvcError('what-if-failed', 'the caller of the replay has gone away');
  };
  const request = fetch(`${api.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${api.operator}`, 'content-type': 'application/json' },
    body: '{}',
    signal: leaving.signal,
  }).catch((error: unknown) => error);
  await begun.promise;
  expect(await api.call('POST', path, {})).toMatchObject({ status: 429 });
  leaving.abort();
  await request;
  await ended.promise;
  answer = async () => COMPARED;
  expect(await api.call('POST', path, {})).toMatchObject({ status: 200 });
});

test('a token with many replays does not keep other tokens of its workspace from theirs', async () => {
  const { body: made } = await api.call('POST', '/v1/monitors', MONITOR);
  const path = `/v1/monitors/${(made as { id: string }).id}/what-if`;
  const reader = { authorization: `Bearer ${api.reader}` };
  const begun = Promise.withResolvers<void>();
  const replay = Promise.withResolvers<Comparison>();
  answer = () => {
    begun.resolve();
    return replay.promise;
  };
  const theirs = api.call('POST', path, {}, reader);
  await begun.promise;
  const ours = api.call('POST', path, { days: 2 });
  expect(await api.call('POST', path, {}, reader)).toMatchObject({
    status: 429,
    body: { detail: expect.stringContaining('1 replays of the token') },
  });
  expect(asked).toHaveLength(1);
  replay.resolve(COMPARED);
  expect([(await theirs).status, (await ours).status]).toEqual([200, 200]);
  expect(asked.map(({ until, from }) => until - from)).toEqual([14, 2].map((days) => days * 86_400_000));
});

describe('the thread of a replay', () => {
  const monitor = () => {
    const found = [...asked].at(-1);
    if (found === undefined) throw new Error('nothing was asked');
    return found;
  };

  test('reads the database and answers', async () => {
    await whatIf({});
    const whatIfs = new WhatIfs(api.database.url);
    await expect(whatIfs.compare(monitor(), NEVER)).resolves.toBeNull();
  });

  test('that fails is an error with a code', async () => {
    await whatIf({});
    const whatIfs = new WhatIfs(new Secret(`${api.database.url.reveal()}/nothing-here`));
    await expect(whatIfs.compare(monitor(), NEVER)).rejects.toMatchObject({ code: 'what-if-failed' });
  });

  test('ends when its caller leaves, and makes room for the next one', async () => {
    await whatIf({});
    const whatIfs = new WhatIfs(api.database.url);
    const visitors = Array.from({ length: 5 }, () => new AbortController());
    for (const visitor of visitors) {
      const compared = whatIfs.compare(monitor(), visitor.signal);
      visitor.abort();
      await expect(compared).rejects.toMatchObject({ message: 'the caller of the replay has gone away' });
    }
    await expect(whatIfs.compare(monitor(), NEVER)).resolves.toBeNull();
  });

  test('ends with the service', async () => {
    await whatIf({});
    const whatIfs = new WhatIfs(api.database.url);
    const compared = whatIfs.compare(monitor(), NEVER).catch((error: unknown) => error);
    await whatIfs.stop();
    // The replay has either answered before the stop, or was ended by it.
    expect([null, 'what-if-failed']).toContain(((await compared) as { code?: string } | null)?.code ?? null);
  });
});
