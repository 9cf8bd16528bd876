import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { Course } from '@svc/coordinator/history/what-if/compare.ts';
import { StoreError } from '@svc/coordinator/store/errors.ts';
import { Secret } from '@svc/shared/secret.ts';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { startApi } from '../support/api.ts';
import { bodiesOf } from '../support/contract/bodies.ts';
import {
  at,
  type Json,
  type Operation,
  readContract,
  resolved,
  stepsOf,
} from '../support/contract/document.ts';
import { valuesOf } from '../support/contract/generate.ts';
import { type Answer, Judge } from '../support/contract/judge.ts';
import { mutations, type Share } from '../support/contract/mutations.ts';
import { failingApi, PROVOCATIONS, UNCHECKED, UNPROVOKED } from '../support/contract/provocations.ts';
import { filled, subjectOf } from '../support/contract/subjects.ts';
import { endConnections, type Sent, World } from '../support/contract/world.ts';

/** Seed and number of the generated requests. `CONTRACT_SEED=… CONTRACT_RUNS=…` change them. */
const SEED = Number(process.env.CONTRACT_SEED ?? 20_260_101);
const GENERATED = Number(process.env.CONTRACT_RUNS ?? 5);
const GENEROUS = { perSecond: 1e9, atOnce: 1e9 };

const COURSE: Course = {
  changes: [{ from: 'active', to: 'error', reason: 'majority-failed', at: 1.5 }],
  alerts: [{ notificationId: 1, status: 'error', at: 1 }],
  times: { active: 1, degraded: 0, error: 1.5, unknown: 0, maintenance: 0 },
};

let isReady = true;
const api = await startApi({
  rate: GENEROUS,
  failureRate: GENEROUS,
  readiness: () => ({ database: isReady }),
  metricsToken: new Secret('metrics-token'),
  whatIfs: {
    compare: async ({ present, from, until }) =>
      present.name === UNCHECKED ? null : { from, until, actual: COURSE, replayed: COURSE },
  },
  checks: {
    runNow: async () => [
      { region: 'hosta-iad', agent: null, result: null },
      {
        region: 'hosta-fra',
        agent: 'fra-1',
        result: {
          outcome: 'failed',
          started_at: 1,
          latency: 1.5,
          phases: { dns: 1.5 },
          error_message: 'a',
          attempts: [{ outcome: 'failed', started_ms: 0, latency: 1.5, error_message: 'a' }],
        },
      },
    ],
  },
});
api.agents.set('hosta-fra', [
  {
    id: 'fra-1',
    version: '0.1.0',
    capacity: 10,
    running: 1,
    loopDelayMs: 1.5,
    lastSeenWall: 1,
    isDraining: false,
    machine: 'probe-1',
    sicknesses: ['network-down'],
  },
]);
const defective = await failingApi(new Error('a defect near s3cret'));
const full = await failingApi(new StoreError('store-full', 'the disk is full near s3cret'));
const limited = await startApi({ rate: { perSecond: 1, atOnce: 0 } });
const contract = await readContract(api);
const { document, operations } = contract;
const judge = new Judge(contract);
const world = World.ofOperator(api);
// Creates objects with secrets, which lists could show by mistake.
await Promise.all([world.notification(), world.component(), world.checkedMonitor()]);
const foreign = await World.create(api);
afterAll(() => {
  endConnections();
  return Promise.all([api, defective, full, limited].map((one) => one.dispose()));
});

console.log(`contract: ${operations.length} operations, seed ${SEED}`);

/** Sends a request. Fails if the answer contradicts the document, and lists how. */
async function judged(operation: Operation, name: string, sent: Sent, by = world): Promise<Answer> {
  const answer = await by.send(sent);
  const isReader = sent.headers?.authorization === `Bearer ${world.reader}`;
  const faults = judge.faults(operation, answer, { isReader });
  // The message is built only for faults, because there are thousands of requests, some with a body of 1 MiB.
  if (faults.length > 0)
    expect.fail(`${operation.id}, ${name}: ${JSON.stringify(sent).slice(0, 500)}\n${faults.join('\n')}`);
  return answer;
}

/** A request of the operation that will succeed. It uses an object that was created for it. */
async function working(operation: Operation): Promise<Sent> {
  const ids = await subjectOf(operation, world);
  const [body] = operation.body === null ? [] : await bodiesOf(operation.id, world, ids);
  const headers = operation.path === '/metrics' ? { authorization: 'Bearer metrics-token' } : {};
  return {
    method: operation.method.toUpperCase(),
    path: filled(operation.path, ids),
    headers,
    ...(body === undefined ? {} : { body }),
  };
}

describe('the OpenAPI document', () => {
  test("is valid by OpenAPI's own schema", () => {
    const file = new URL('../support/contract/openapi-3.1.schema.json', import.meta.url);
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    // The dynamic anchor is for users who extend the schema. Ajv resolves it to a wrong anchor.
    const text = readFileSync(file, 'utf8').replaceAll('"$dynamicRef": "#meta"', '"$ref": "#/$defs/schema"');
    const validate = ajv.compile(JSON.parse(text) as object);
    validate(document);
    expect(validate.errors ?? []).toEqual([]);
  });

  test('has valid schemas, and references that exist', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"(#[^"]+)"/g)].map(
      ([, ref]) => ref ?? '',
    );
    for (const reference of new Set(references)) {
      expect([reference, at(document, stepsOf(reference))]).toEqual([reference, expect.any(Object)]);
    }
    const ids = operations.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    for (const schema of Object.values(at(document, ['components', 'schemas']) as Json)) {
      expect(ajv.validateSchema(schema as object)).toBe(true);
    }
  });

  test('allows no unknown members in answers, and has an example of everything', () => {
    for (const { id, answers, body } of operations) {
      for (const [status, { schema }] of answers) {
        if (schema === null || status >= 400) continue;
        for (const choice of choicesOf(at(document, stepsOf(`#${schema}`)) as Json)) {
          const { type, additionalProperties, examples } = choice;
          if (type === 'string') continue;
          expect([id, additionalProperties, examples]).toEqual([id, false, [expect.anything()]]);
        }
      }
      for (const { examples } of body === null ? [] : choicesOf(body)) {
        expect([id, examples]).toEqual([id, [expect.anything()]]);
      }
    }
  });

  test('has examples that are valid', () => {
    let count = 0;
    const walk = (value: unknown, pointer: string): void => {
      if (typeof value !== 'object' || value === null) return;
      for (const [name, inner] of Object.entries(value)) {
        if (name === 'examples' && Array.isArray(inner)) {
          count += 1;
          for (const example of inner)
            expect([pointer, judge.schemaFaults(pointer, example)]).toEqual([pointer, []]);
        } else
          walk(inner, `${pointer}/${encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))}`);
      }
    };
    walk(document, '');
    expect(count).toBeGreaterThan(30);
  });
});

describe.each(operations.map((operation) => [operation.id, operation] as const))('%s', (id, operation) => {
  const success = [...operation.answers.keys()].find((status) => status < 300);

  test('answers valid requests as documented', async () => {
    const sent = await working(operation);
    if (operation.body === null) {
      expect((await judged(operation, 'valid', sent)).status).toBe(success);
      return;
    }
    const ids = await subjectOf(operation, world);
    for (const body of await bodiesOf(id, world, ids)) {
      const answer = await judged(operation, 'valid', { ...sent, path: filled(operation.path, ids), body });
      expect([answer.status, answer.text]).toEqual([success, expect.anything()]);
    }
  });

  test('answers bodies of all sorts as documented', async () => {
    if (operation.body === null) return;
    const { path, method } = await working(operation);
    const [valid] = await bodiesOf(id, world, await subjectOf(operation, world));
    const bodies =
      valid === undefined ? [] : mutations(valid, membersOf(operation.body), shareOf(operation.body));
    for (const { name, ...sent } of bodies) {
      await judged(operation, name, { method, path, ...sent });
    }
    const values = fc.sample(valuesOf(document, operation.body), { seed: SEED, numRuns: GENERATED });
    for (const value of values) {
      await judged(operation, 'generated', { method, path, body: JSON.stringify(value) });
    }
  });

  test('answers parameters of all sorts as documented', async () => {
    const sent = await working(operation);
    for (const query of queriesFor(operation)) {
      await judged(operation, query, { ...sent, path: `${sent.path}?${query}` });
    }
    for (const [name, value] of HEADERS) {
      await judged(operation, `${name}: ${value}`, { ...sent, headers: { ...sent.headers, [name]: value } });
    }
    if (!operation.path.includes('{')) return;
    for (const bad of [
      '0',
      '01',
      '-1',
      '1.5',
      'x',
      '1e3',
      '%00',
      '%F0%9F%98%80',
      '1%2F2',
      '9'.repeat(16),
      '999999999',
    ]) {
      const path = operation.path.replace(/\{\w+\}/g, bad);
      expect([path, (await judged(operation, bad, { ...sent, path })).status]).toEqual([path, 404]);
    }
  });

  test('answers tokens of all sorts as documented', async () => {
    const sent = await working(operation);
    const tokens = [
      '',
      'Bearer',
      'Bearer x',
      `Basic ${btoa('a:b')}`,
      `Bearer ${'x'.repeat(2_000)}`,
      'Bearer \u00ff',
    ];
    for (const authorization of [undefined, ...tokens]) {
      const answer = await judged(operation, `token ${authorization}`, {
        ...sent,
        headers: { authorization },
      });
      if (!operation.isPublic) expect(answer.status).toBe(401);
    }
    const reader = { authorization: `Bearer ${world.reader}` };
    await judged(operation, 'read token', { ...sent, headers: reader });
    for (const token of [foreign.token, foreign.reader]) {
      await judged(operation, 'foreign token', { ...sent, headers: { authorization: `Bearer ${token}` } });
    }
  });

  test('gives every documented answer', async () => {
    await provoked(operation);
    // 421: `fetch` sets the host itself, so the tests of the listener cover it.
    const documented = [...operation.answers.keys()].filter((status) => status !== 421).sort();
    const missing = documented.filter(
      (status) => judge.seen.get(id)?.has(status) !== true && UNPROVOKED[id]?.[status] === undefined,
    );
    expect(missing, 'documented, but nothing led to it').toEqual([]);
  });
});

test.each(
  operations
    .filter(({ method }) => method === 'put')
    .map((operation) => [operation.path, operation] as const),
)('what GET answers at %s can be sent back, and changes nothing', async (_path, operation) => {
  const path = filled(operation.path, await subjectOf(operation, world));
  const before = await world.send({ method: 'GET', path });
  const etag = before.headers.get('etag') ?? '';
  const put = await world.send({ method: 'PUT', path, body: before.text, headers: { 'if-match': etag } });
  expect(put).toMatchObject({ status: 200, text: before.text });
  expect(put.headers.get('etag')).toBe(etag);
});

const members = Map.groupBy(
  operations.filter(({ path }) => path.includes('{')),
  ({ path }) => path,
);
test.each([...members])('a body with every member at %s is answered as documented', async (_path, all) => {
  const [first] = all;
  if (first === undefined) return;
  const ids = await subjectOf(first, world);
  const key = { 'idempotency-key': World.unique() };
  const requests = await Promise.all(
    all.map(async (operation) => {
      const [body] = operation.body === null ? [] : await bodiesOf(operation.id, world, ids);
      const path = filled(operation.path, ids);
      const sent = { method: operation.method.toUpperCase(), path, headers: key };
      return { operation, sent: body === undefined ? sent : { ...sent, body } };
    }),
  );
  const thrice = [...requests, ...requests.toReversed(), ...requests];
  await Promise.all(thrice.map(({ operation, sent }) => judged(operation, 'at once', sent)));
});

test('other methods and paths are refused with a problem', async () => {
  for (const path of new Set(operations.map((operation) => operation.path))) {
    const methods = operations.filter((operation) => operation.path === path).map(({ method }) => method);
    const concrete = path.replace(/\{\w+\}/g, '1');
    for (const method of ['get', 'post', 'put', 'patch', 'delete', 'options'] as const) {
      if ((methods as string[]).includes(method)) continue;
      const answer = await world.send({ method: method.toUpperCase(), path: concrete });
      expect([method, path, judge.problemFaults(answer, 405)]).toEqual([method, path, []]);
      const allowed = methods.flatMap((one) => (one === 'get' ? ['GET', 'HEAD'] : [one.toUpperCase()]));
      expect(answer.headers.get('allow')?.split(', ').sort()).toEqual(allowed.sort());
    }
  }
  for (const path of [
    '/v1',
    '/v1/',
    '/v1/monitor',
    '/v1/monitors/',
    '/v1//monitors',
    '/v1/monitors/1/x',
    '/V1/monitors',
  ]) {
    expect([path, judge.problemFaults(await world.send({ method: 'GET', path }), 404)]).toEqual([path, []]);
  }
});

test('every operation that these tests name exists', () => {
  const ids = new Set(operations.map(({ id }) => id));
  const named = [...Object.keys(PROVOCATIONS), ...Object.keys(UNPROVOKED)];
  expect(named.filter((id) => !ids.has(id))).toEqual([]);
});

const HEADERS = [
  ['if-match', 'x'],
  ['if-match', '"0"'],
  ['if-none-match', '*'],
  ['if-none-match', '"'],
  ['idempotency-key', ''],
  ['idempotency-key', 'a b'],
  ['idempotency-key', 'x'.repeat(256)],
  ['accept', 'image/png'],
  ['accept-encoding', 'identity;q=0'],
  ['range', 'bytes=0-1'],
  ['x-request-id', '<script>'],
  ['host', 'other.example'],
  ['x-http-method-override', 'DELETE'],
] as const;

/** Operations that take the same body share the pairs of a member and a value. */
function shareOf(body: Json): Share {
  const same = operations.filter((other) => isDeepStrictEqual(other.body, body));
  return { turn: same.findIndex((other) => other.body === body), of: same.length };
}

function membersOf(schema: Json): string[] {
  return [...new Set(choicesOf(schema).flatMap(({ properties }) => Object.keys((properties ?? {}) as Json)))];
}

/** The alternatives of a `oneOf`, or the schema itself. */
function choicesOf(schema: Json): Json[] {
  const { properties, oneOf } = resolved(document, schema);
  const isChoice = properties === undefined && Array.isArray(oneOf);
  return (isChoice ? (oneOf as Json[]) : [schema]).map((choice) => resolved(document, choice));
}

function queriesFor({ parameters }: Operation): string[] {
  const own = parameters.filter((parameter) => parameter.in === 'query');
  const values = [
    '',
    '0',
    '1',
    '-1',
    '1.5',
    '101',
    'x',
    '%00',
    '%',
    '%ED%A0%80',
    '9'.repeat(15),
    'x'.repeat(300),
    'null',
  ];
  return [
    'unknown=1',
    '__proto__=1',
    ...own.flatMap(({ name, schema }) => [
      ...values.map((value) => `${name}=${value}`),
      `${name}=1&${name}=1`,
      `${name}[]=1`,
      ...fc
        .sample(valuesOf(document, schema), { seed: SEED, numRuns: 5 })
        .map((value) => `${name}=${encodeURIComponent(String(value).toWellFormed())}`),
    ]),
  ];
}

/** Causes the remaining statuses: those of every operation, and those of this operation only. */
async function provoked(operation: Operation): Promise<void> {
  for (const [status, provoke] of Object.entries(PROVOCATIONS[operation.id] ?? {})) {
    const answer = await provoke(world);
    expect([answer.status, judge.faults(operation, answer)]).toEqual([Number(status), []]);
  }
  const sent = await working(operation);
  const send = (more: object) => judged(operation, JSON.stringify(more), { ...sent, ...more });
  if (operation.answers.has(304)) await send({ headers: { 'if-none-match': '*' } });
  if (operation.answers.has(412)) await send({ headers: { 'if-match': '"999999"' } });
  if (operation.path === '/readyz') {
    isReady = false;
    judge.faults(operation, await world.send(sent), { mayFail: true });
    isReady = true;
  }
  if (operation.answers.has(403)) await send({ headers: { authorization: `Bearer ${world.reader}` } });
  await broken(operation, sent);
}

/** Sends the request while a part behind the API fails, and when the token has sent too many requests. */
async function broken(operation: Operation, sent: Sent): Promise<void> {
  for (const [status, of] of [
    [500, defective],
    [503, full],
    [429, limited],
  ] as const) {
    if (!operation.answers.has(status) || (operation.isPublic && status !== 500)) continue;
    const answer = await World.ofOperator(of).send(sent);
    expect([status, judge.faults(operation, answer, { mayFail: true })]).toEqual([status, []]);
  }
}
