import { afterAll, beforeAll, expect, expectTypeOf, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';
import type { AnswerOf, Endpoint, ParametersOf } from './endpoint.ts';
import type { ApiCalls, Parameters } from './in-process.ts';
import type { INCIDENT } from './routes/incidents.ts';
import { MONITOR } from './routes/monitors.ts';
import type { monitorResults } from './routes/results.ts';

let api: RunningApi;
let calls: ApiCalls;
beforeAll(async () => {
  api = await startApi({
    sites: (given) => {
      calls = given;
      return [];
    },
  });
});
afterAll(() => api.dispose());

const { signal } = new AbortController();
const caller = () => {
  const token = api.tokens.lookup(api.operator);
  if (token === null) throw new Error('the operator has a token');
  return { token, peer: '192.0.2.1' };
};
const monitor = { type: 'tcp', name: 'Mail', uri: 'mail.example:25', periodicity: '1m' };

test('a call has the answer and the audit line of the request over a socket', async () => {
  const made = await calls.call(caller(), MONITOR.create, {}, { signal, body: monitor });
  expect(made).toMatchObject({ status: 201, problem: null, body: { name: 'Mail' } });
  if (made.problem !== null) throw made.problem;
  const { id } = made.body;
  const read = await calls.call(caller(), MONITOR.read, { id }, { signal });
  const over = await api.call('GET', `/v1/monitors/${id}`);
  expect(read).toMatchObject({ status: 200, body: over.body, headers: { etag: over.headers.get('etag') } });
  const audit = await api.call('GET', `/v1/audit?object=monitors/${id}`);
  expect(audit.body).toMatchObject({
    data: [{ action: 'create', object: `monitors/${id}`, outcome: 'done', peer: '192.0.2.1' }],
  });
});

test('a call is refused in the same way as the request over a socket', async () => {
  // These types are loose, so that the compiler accepts parameters that do not fit the endpoint.
  const refused: readonly (readonly [Endpoint, Parameters, string])[] = [
    [MONITOR.read, { id: 999 }, '/v1/monitors/999'],
    [MONITOR.list, { limit: 'many', wrong: 1 }, '/v1/monitors?limit=many&wrong=1'],
  ];
  for (const [endpoint, parameters, path] of refused) {
    const called = await calls.call(caller(), endpoint, parameters, { signal });
    const over = await api.call('GET', path);
    expect(called.problem?.document('')).toEqual({ ...(over.body as object), request_id: '' });
  }
});

test('the token of a call is checked again', async () => {
  const { token } = await api.tokens.create(
    { workspaceId: api.workspaceId, name: 'short', scope: 'read' },
    api.clock.wall(),
  );
  const call = () => calls.call({ token, peer: null }, MONITOR.list, {}, { signal });
  expect((await call()).status).toBe(200);
  const create = () => calls.call({ token, peer: null }, MONITOR.create, {}, { signal, body: monitor });
  expect((await create()).problem?.code).toBe('forbidden');
  await api.call('DELETE', `/v1/tokens/${token.id}`);
  expect((await call()).problem?.code).toBe('unauthorized');
});

test('an endpoint has the types of its parameters and its answer', () => {
  expectTypeOf<AnswerOf<typeof INCIDENT.read>['state']>().toEqualTypeOf<
    'investigating' | 'identified' | 'monitoring' | 'resolved'
  >();
  expectTypeOf<AnswerOf<typeof MONITOR.list>['data'][number]['type']>().toEqualTypeOf<
    'http' | 'tcp' | 'dns'
  >();
  type Asked = ParametersOf<NonNullable<typeof monitorResults.types>>;
  expectTypeOf<keyof Asked>().toEqualTypeOf<
    'id' | 'limit' | 'cursor' | 'region' | 'outcome' | 'from' | 'until'
  >();
  expectTypeOf<{ id: number }>().toExtend<Asked>();
  expectTypeOf<{ limit: number }>().not.toExtend<Asked>();
});
