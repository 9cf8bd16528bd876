import type { CheckRunner } from '@svc/coordinator/api/api-parts.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';
import { rowsOf } from '../../../../test/support/store-rows.ts';

let api: RunningApi;
let run: CheckRunner['runNow'];
let asked: { check: unknown; regions: readonly string[]; timeoutMs: number }[];

beforeAll(async () => {
  const checks: CheckRunner = {
    runNow(checkText, regions, timeoutMs) {
      asked.push({ check: JSON.parse(checkText.reveal()), regions, timeoutMs });
      return run(checkText, regions, timeoutMs);
    },
  };
  api = await startApi({ checks });
});

beforeEach(() => {
  asked = [];
  run = async () => [];
});

afterAll(() => api.dispose());

const DRAFT = {
  type: 'http',
  name: 'Draft',
  url: 'https://example.com/',
  periodicity: '30s',
  active: false,
  regions: ['hosta-fra', 'hosta-iad'],
  timeout: 700,
  headers: [{ key: 'authorization', value: 'of the draft' }],
};

const dryRun = (body: unknown, headers?: Record<string, string>) =>
  api.call('POST', '/v1/monitors/dry-run', body, headers);

describe('a dry-run', () => {
  test('checks in the regions of the draft, and answers the result of each', async () => {
    const assertions = [{ assertion: 'a status code from 200 to 299', failure: 'expected …, saw 503' }];
    run = async () => [
      {
        region: 'hosta-fra',
        agent: 'fra-1',
        result: {
          outcome: 'failed',
          started_at: 1,
          latency: 12.5,
          status_code: 503,
          attempts: [],
          assertions,
        },
      },
      { region: 'hosta-iad', agent: null, result: null },
    ];
    const answer = await dryRun(DRAFT);
    expect(answer).toMatchObject({
      status: 200,
      body: {
        data: [
          {
            region: 'hosta-fra',
            agent_id: 'fra-1',
            result: { outcome: 'failed', latency: 12.5, assertions },
          },
          { region: 'hosta-iad', agent_id: null, result: null },
        ],
      },
    });
    expect(asked).toMatchObject([
      { regions: DRAFT.regions, timeoutMs: 700, check: { url: DRAFT.url, type: 'http' } },
    ]);
  });

  test('creates nothing, and leaves a line in the audit trail', async () => {
    const before = await api.call('GET', '/v1/monitors');
    await dryRun(DRAFT);
    expect((await api.call('GET', '/v1/monitors')).body).toEqual(before.body);
    expect(await rowsOf(api.store, 'changes')).toEqual([]);
    const { body } = await api.call('GET', '/v1/audit?limit=1');
    expect(body).toMatchObject({ data: [{ action: 'dry-run', object: 'monitors', outcome: 'done' }] });
    expect(JSON.stringify(body)).not.toContain('of the draft');
  });

  test.each([
    ['without a type', { ...DRAFT, type: undefined }],
    ['with an unknown member', { ...DRAFT, colour: 'red' }],
    ['with two mistakes', { ...DRAFT, url: 'ftp://example.com/', timeout: 1 }],
    ['with a denied export', { ...DRAFT, otlp_endpoint: 'http://169.254.169.254/v1/metrics' }],
    ['that is no object', []],
  ])('%s is refused as a create is', async (_name, body) => {
    const created = await api.call('POST', '/v1/monitors', body);
    const { status, body: problem } = await dryRun(body);
    const comparable = (value: unknown) => ({ ...(value as object), request_id: null });
    expect([status, comparable(problem)]).toEqual([created.status, comparable(created.body)]);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(asked).toEqual([]);
  });

  test('needs a token that may write', async () => {
    expect((await dryRun(DRAFT, { authorization: `Bearer ${api.reader}` })).status).toBe(403);
    expect((await dryRun(DRAFT, { authorization: '' })).status).toBe(401);
  });

  test('is refused while the maximum is running', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const eight = Promise.withResolvers<void>();
    run = async () => {
      if (asked.length === 8) eight.resolve();
      await promise;
      return [];
    };
    const running = Array.from({ length: 8 }, () => dryRun(DRAFT));
    await eight.promise;
    expect((await dryRun(DRAFT)).status).toBe(429);
    resolve();
    for (const answer of await Promise.all(running)) expect(answer.status).toBe(200);
  });
});
