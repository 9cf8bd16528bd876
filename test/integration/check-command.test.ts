import type { CheckRunner } from '@svc/coordinator/api/api-parts.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../support/api.ts';
import { openedIn, targetIn } from '../support/opened.ts';
import { svc } from '../support/svc.ts';

test('a target is probed from this machine, phase by phase', async (context) => {
  const target = await targetIn(openedIn(context));
  const { code, out } = await svc(['check', target.url, '--here'], {});
  expect(code).toBe(0);
  expect(out).toMatch(/passed\nstatus code +200\nlatency +[\d.]+ ms\n {2}connect /);
  const { port } = new URL(target.url);
  const { code: tcp, out: json } = await svc(['check', `tcp://127.0.0.1:${port}`, '--json', '--here'], {});
  expect({ tcp, ...JSON.parse(json) }).toMatchObject({ tcp: 0, outcome: 'passed', error_message: null });
});

test('a target that is down says why', async (context) => {
  const target = await targetIn(openedIn(context));
  target.answerWith((response) => {
    response.statusCode = 503;
    response.end();
  });
  const { code, out, err } = await svc(['check', target.url, '--here'], {});
  expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('503') });
  expect(out).toContain('failed');
});

test.each([
  [[], 'the target is missing'],
  [['www example com'], 'is no target'],
  [['ftp://a'], 'write https://www.example.com/, tcp'],
  [['tcp://127.0.0.1', '--here'], 'uri: '],
  [['http://127.0.0.1', '--timeout', 'soon'], '--timeout must be'],
  [['http://127.0.0.1', '--region', 'hosta-fra', '--here'], 'one of both'],
])('check %j is refused', async (args, message) => {
  expect(await svc(['check', ...args], {})).toMatchObject({ code: 2, err: expect.stringContaining(message) });
});

describe('a target checked from regions', () => {
  let api: RunningApi;
  let asked: { check: unknown; regions: readonly string[] }[];
  let answers: Awaited<ReturnType<CheckRunner['runNow']>>;
  beforeAll(async () => {
    const checks: CheckRunner = {
      async runNow(checkText, regions) {
        asked.push({ check: JSON.parse(checkText.reveal()), regions });
        return answers;
      },
    };
    api = await startApi({ checks, ownRegions: [{ id: 'office-berlin', name: 'Berlin office' }] });
  });
  beforeEach(() => {
    asked = [];
    answers = [
      { region: 'hosta-fra', agent: 'a', result: { ...FOUND, outcome: 'passed' } },
      { region: 'hosta-iad', agent: null, result: null },
    ];
  });
  afterAll(() => api.dispose());

  const check = (...args: string[]) =>
    svc(['check', ...args], { SVC_BASE_URL: api.url, SVC_API_TOKEN: api.operator });

  test('is shown with the name of a region, if it has one', async () => {
    answers = [{ region: 'office-berlin', agent: 'a', result: { ...FOUND, outcome: 'passed' } }];
    const { out } = await check('https://example.com/', '--region', 'office-berlin');
    expect(out).toMatch(/^Berlin office \(office-berlin\) +passed/);
    expect(out).toMatch(/\nBerlin office \(office-berlin\)\n/);
    const { out: json } = await check('https://example.com/', '--json');
    expect(JSON.parse(json)).toMatchObject([{ region: 'office-berlin' }]);
  });

  test('is shown region by region, with phases, assertions and silence', async () => {
    const { code, out } = await check(
      'https://example.com/',
      '--region',
      'hosta-fra',
      '--region',
      'hosta-iad',
    );
    expect(code).toBe(0);
    expect(out).toMatch(/hosta-fra +passed +12\.5 ms +connect 12\.5/);
    expect(out).toMatch(/hosta-iad +no answer/);
    expect(out).toContain('a status code from 200 to 299');
    expect(asked).toMatchObject([
      { check: { type: 'http', url: 'https://example.com/' }, regions: ['hosta-fra', 'hosta-iad'] },
    ]);
  });

  test.each([
    ['example.com:443', { type: 'tcp', uri: 'example.com:443' }],
    ['[2001:db8::1]:53', { type: 'tcp', uri: '[2001:db8::1]:53' }],
    ['example.com', { type: 'dns', uri: 'example.com' }],
    ['dns://example.com/', { type: 'dns', uri: 'example.com' }],
  ])('the kind of %s is guessed from its form', async (target, expected) => {
    expect((await check(target)).code).toBe(0);
    expect(asked).toMatchObject([{ check: expected }]);
  });

  test('that fails in a region, or that no region answers about, makes the command exit with 1', async () => {
    const failed = { ...FOUND, outcome: 'failed', error_message: 'refused' } as const;
    answers = [...answers, { region: 'hosta-lax', agent: 'b', result: failed }];
    expect(await check('example.com')).toMatchObject({ code: 1, err: expect.stringContaining('1 of 2') });
    answers = [{ region: 'hosta-iad', agent: null, result: null }];
    expect(await check('example.com')).toMatchObject({ code: 1, err: expect.stringContaining('no region') });
  });

  test("that the API refuses is refused with the API's message", async () => {
    expect(await check('tcp://example.com')).toMatchObject({ code: 1, err: expect.stringContaining('uri') });
  });

  test("is shown as the API's JSON", async () => {
    const { out } = await check('example.com', '--json');
    expect(JSON.parse(out)).toMatchObject([{ region: 'hosta-fra' }, { region: 'hosta-iad', result: null }]);
  });
});

const FOUND = {
  started_at: 1,
  latency: 12.5,
  phases: { connect: 12.5 },
  status_code: 200,
  attempts: [],
  assertions: [{ assertion: 'a status code from 200 to 299', failure: null }],
};
