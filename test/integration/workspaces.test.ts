import { TABLE_NAMES } from '@svc/coordinator/store/dialect.ts';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApi } from '../support/api.ts';
import { bodiesOf } from '../support/contract/bodies.ts';
import { type Json, type Operation, readContract, resolved } from '../support/contract/document.ts';
import type { Answer } from '../support/contract/judge.ts';
import { filled, subjectOf } from '../support/contract/subjects.ts';
import { type Ids, type Sent, World } from '../support/contract/world.ts';

/**
 * Two workspaces with objects of every kind. A token of one workspace must get the same answers about the
 * other's objects as about objects that never existed, and must not change them. The tests are made from the
 * OpenAPI document, so an added operation or reference is tested too, and fails until the tests have an
 * object for it.
 */
const api = await startApi({ rate: { perSecond: 1e9, atOnce: 1e9 } });
const { document, operations } = await readContract(api);
const mine = await World.create(api);
const theirs = await World.create(api);
const operator = World.ofOperator(api);
const guarded = operations.filter(({ isPublic }) => !isPublic);
/** Operations on workspaces are left out, because only the operator may use them. */
const ours = guarded.filter(({ path }) => !path.startsWith('/v1/workspaces'));
const NEVER = '999999999';

const subjects = new Map<string, { mine: Ids; theirs: Ids }>();
/** Ids of objects of the other workspace, by the member of a body that may refer to them. */
let references: Readonly<Record<string, string>>;

beforeAll(async () => {
  for (const operation of guarded) {
    const of = { mine: await subjectOf(operation, mine), theirs: await subjectOf(operation, theirs) };
    subjects.set(operation.id, of);
  }
  const component = await theirs.component();
  const group = await theirs.group();
  const monitor = await theirs.monitor();
  references = {
    monitor_id: monitor,
    monitor_ids: monitor,
    page_id: component.page_id ?? '',
    group_id: group.id ?? '',
    page_ids: component.page_id ?? '',
    component_ids: component.id ?? '',
    workspace_id: String(theirs.workspaceId),
  };
});
afterAll(() => api.dispose());

/**
 * Tables that a refused request may write: the audit trail, and in PostgreSQL the mark of the last
 * transaction, which each transaction writes, also one that changes nothing else.
 */
const UNTOLD: ReadonlySet<string> = new Set(['audit', 'sqlite_sequence', 'last_commits']);

/** Every row of every other table. */
async function dump(): Promise<string> {
  const { rows: tables } = await TABLE_NAMES.execute(api.store.read);
  const rows: object[] = [];
  for (const { name } of tables) {
    if (UNTOLD.has(name)) continue;
    const found = await sql<object>`SELECT * FROM ${sql.table(name)}`.execute(api.store.read);
    rows.push([name, found.rows]);
  }
  return JSON.stringify(rows, (_key, value) => (value instanceof Uint8Array ? [...value].join() : value));
}

/** An answer without the parts that may differ between two ids of which neither exists. */
function told({ status, headers, text }: Answer, ids: readonly string[]): object {
  const names = ['etag', 'location', 'content-type', 'idempotency-replayed'].map((name) => headers.get(name));
  const same = text.replaceAll(new RegExp(`(?<!\\d)(?:${ids.join('|')})(?!\\d)`, 'g'), 'ID');
  return { status, names, text: same.replace(/"request_id":"[^"]+"/, '') };
}

const subject = (operation: Operation) => subjects.get(operation.id) ?? { mine: {}, theirs: {} };

async function requestFor(operation: Operation, ids: Ids): Promise<Omit<Sent, 'path'>> {
  const [body] = operation.body === null ? [] : await bodiesOf(operation.id, mine, ids);
  return { method: operation.method.toUpperCase(), ...(body === undefined ? {} : { body }) };
}

describe("ids of another workspace's objects in paths", () => {
  const withIds = ours.filter(({ path }) => path.includes('{'));

  test('there are operations to try', () => expect(withIds.length).toBeGreaterThan(20));

  test.each(withIds.map((operation) => [operation.id, operation] as const))('%s', async (_id, operation) => {
    const { mine: own, theirs: foreign } = subject(operation);
    const request = await requestFor(operation, own);
    const before = await dump();
    for (const attacker of [mine, operator]) {
      for (const headers of [{}, { 'if-match': '*' }, { 'if-none-match': '*' }, { 'idempotency-key': 'k' }]) {
        for (const ids of mixtures(own, foreign)) {
          const answer = await attacker.send({ ...request, headers, path: filled(operation.path, ids) });
          // Own ids stay, because "page 1 has no component 2" must read the same too.
          const nothing = Object.fromEntries(
            Object.entries(ids).map(([name, id]) => [name, id === foreign[name] ? NEVER : id]),
          );
          const never = await attacker.send({ ...request, headers, path: filled(operation.path, nothing) });
          expect(answer.status).toBe(404);
          expect(told(answer, Object.values(ids))).toEqual(told(never, Object.values(nothing)));
        }
      }
    }
    expect(await dump()).toBe(before);
  });

  /** Every combination of own and foreign ids, except the one of own ids only. */
  function mixtures(own: Ids, foreign: Ids): Ids[] {
    const names = Object.keys(foreign);
    return Array.from({ length: 2 ** names.length - 1 }, (_, bits) =>
      Object.fromEntries(names.map((name, at) => [name, ((bits >> at) & 1 ? own : foreign)[name] ?? ''])),
    );
  }
});

describe("ids of another workspace's objects in bodies", () => {
  const written = ours.flatMap((operation) =>
    referencesIn(operation.body ?? {}).map((name) => [operation.id, name, operation] as const),
  );

  test('every reference is a direct member of the body, and these tests know it', () => {
    expect(written.length).toBeGreaterThan(8);
    for (const [id, name] of written)
      expect([id, name, references[name]]).toEqual([id, name, expect.any(String)]);
  });

  test.each(written)('%s: %s', async (_id, name, operation) => {
    const { mine: own } = subject(operation);
    const bodies = operation.body === null ? [] : await bodiesOf(operation.id, mine, own);
    const body = bodies.find((one) => name in one) ?? bodies[0] ?? {};
    const before = await dump();
    const sendWith = (value: string) =>
      mine.send({
        method: operation.method.toUpperCase(),
        path: filled(operation.path, own),
        body: { ...body, [name]: name.endsWith('s') ? [value] : value },
      });
    const id = references[name] ?? '';
    const answer = await sendWith(id);
    // For a page, only the page of the path is accepted.
    expect(answer).toMatchObject({ status: name === 'page_id' ? 422 : 404 });
    expect(JSON.parse(answer.text)).toMatchObject({
      errors: [
        { message: expect.stringMatching(/^there is no |has no |^must be \d+, the page in the path/) },
      ],
    });
    expect(told(answer, [id])).toEqual(told(await sendWith(NEVER), [NEVER]));
    expect(await dump()).toBe(before);
  });

  /** Members of a body that name objects. */
  function referencesIn(schema: Json): string[] {
    const { properties = {}, oneOf = [], anyOf = [] } = resolved(document, schema);
    const own = Object.keys(properties as Json).filter((name) => /_ids?$/.test(name) && !isChat(name));
    const choices = [...(oneOf as Json[]), ...(anyOf as Json[])].flatMap(referencesIn);
    const inner = Object.entries(properties as Record<string, Json>).flatMap(([name, member]) =>
      referencesIn(member).map((reference) => `${name}.${reference}`),
    );
    return [...new Set([...own, ...choices, ...inner])].filter((name) => !isChat(name));
  }

  /** Whether the member names a chat of another service. */
  function isChat(name: string): boolean {
    return name.split('.').at(-1) === 'chat_id';
  }
});

describe('what is listed', () => {
  /**
   * Operations that are left out: all workspaces share regions and their agents, and a preview is an HTML
   * page.
   */
  const others = new Set(['get_regions', 'get_status_pages_id_preview']);
  const lists = ours.filter(
    ({ id, method, path }) => method === 'get' && !path.endsWith('{id}') && !others.has(id),
  );

  test.each(lists.map((operation) => [operation.id, operation] as const))('%s', async (_id, operation) => {
    const { mine: own, theirs: foreign } = subject(operation);
    const shown = async (world: World, ids: Ids, authorization = `Bearer ${world.token}`) => {
      const path = `${filled(operation.path, ids)}${operation.parameters.some(({ name }) => name === 'limit') ? '?limit=100' : ''}`;
      const answer = await world.send({ method: 'GET', path, headers: { authorization } });
      expect(answer.status).toBe(200);
      return JSON.parse(answer.text) as { data?: { id?: string }[]; total?: number };
    };
    const [here, there] = [await shown(mine, own), await shown(theirs, foreign)];
    const idsOf = ({ data = [] }: typeof here) => data.flatMap(({ id }) => id ?? []);
    expect(idsOf(here).filter((id) => idsOf(there).includes(id))).toEqual([]);
    if (here.total !== undefined)
      expect([here.total, there.total]).toEqual([here.data?.length, there.data?.length]);
    if (idsOf(here).length === 0) return;
    const all = await mine.send({ method: 'GET', path: `${filled(operation.path, own)}?limit=1` });
    const { next_cursor: cursor } = JSON.parse(all.text) as { next_cursor?: string | null };
    if (typeof cursor !== 'string') return;
    // A cursor contains a position, but no workspace.
    const path = `${filled(operation.path, foreign)}?cursor=${cursor}`;
    const next = JSON.parse((await theirs.send({ method: 'GET', path })).text) as typeof here;
    expect(idsOf(next).filter((id) => idsOf(here).includes(id))).toEqual([]);
  });

  test('a read token sees the same workspace as the write token', async () => {
    const of = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` };
      const { text } = await mine.send({ method: 'GET', path: '/v1/monitors?limit=100', headers });
      return (JSON.parse(text) as { data: { id: string }[] }).data.map(({ id }) => id);
    };
    expect(await of(mine.reader)).toEqual(await of(mine.token));
  });
});

describe('what is remembered', () => {
  test('an Idempotency-Key belongs to one workspace', async () => {
    const body = { type: 'tcp', name: 'a', uri: 'a.example:1', periodicity: '1m' };
    const sent = { method: 'POST', path: '/v1/monitors', headers: { 'idempotency-key': 'shared' } };
    const first = await theirs.send({ ...sent, body });
    const before = await theirs.send({ method: 'GET', path: '/v1/monitors' });
    const second = await mine.send({ ...sent, body });
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.headers.get('idempotency-replayed')).toBeNull();
    expect(JSON.parse(second.text).id).not.toBe(JSON.parse(first.text).id);
    const other = { 'idempotency-key': 'shared-too' };
    await theirs.send({ ...sent, headers: other, body: { ...body, name: 'b' } });
    expect((await mine.send({ ...sent, headers: other, body })).status).toBe(201);
    const after = await theirs.send({ method: 'GET', path: '/v1/monitors' });
    expect(JSON.parse(after.text).total).toBe(JSON.parse(before.text).total + 1);
  });

  test('a taken slug reveals no page', async () => {
    const slug = World.unique();
    await theirs.made('/v1/status-pages', { title: 'Their title', slug });
    const answer = await mine.send({ method: 'POST', path: '/v1/status-pages', body: { title: 'a', slug } });
    expect(answer.status).toBe(409);
    expect(JSON.parse(answer.text).detail).toBe('another status page has this slug');
    expect(answer.text).not.toContain('Their title');
  });

  test('an unverified claim of a domain blocks nobody, but the other pages of its workspace', async () => {
    const custom_domain = `${World.unique()}.example`;
    const claimed = (world: World) =>
      world.send({
        method: 'POST',
        path: '/v1/status-pages',
        body: { title: 'a', slug: World.unique(), custom_domain },
      });
    expect((await claimed(theirs)).status).toBe(201);
    expect((await claimed(mine)).status).toBe(201);
    const again = await claimed(mine);
    expect([again.status, JSON.parse(again.text).detail]).toEqual([
      409,
      'another status page has this custom domain',
    ]);
  });

  test('only the operator can change workspaces', async () => {
    const path = '/v1/workspaces';
    const made = await mine.send({ method: 'POST', path, body: { name: World.unique() } });
    expect(made.status).toBe(403);
    const seen = await mine.send({ method: 'GET', path });
    expect(JSON.parse(seen.text)).toMatchObject({ data: [{ id: String(mine.workspaceId) }], total: 1 });
  });
});
