import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';
import { LARGE_BODIES, LARGE_MONITOR as MONITOR } from '../../../../test/support/large-bodies.ts';

let api: RunningApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.dispose());

/** `npm run bench -- large-bodies` measures how long each of these bodies blocks the thread. */
test.each(Object.entries(LARGE_BODIES))('320 KiB of %s are answered', async (_, [path, body, status]) => {
  expect((await api.call('POST', `/v1/${path}`, body)).status).toBe(status);
});

test('a valid large body is stored, and an invalid one is answered with its errors', async () => {
  const body = 'x'.repeat(200_000);
  const monitor = JSON.parse(`{${MONITOR}}`) as object;
  const answer = await api.call('POST', '/v1/monitors', { ...monitor, method: 'POST', body });
  expect(answer).toMatchObject({ status: 201, body: { body } });
  const bad = await api.call('POST', '/v1/monitors', {
    ...monitor,
    body,
    periodicty: '1m',
    periodicity: '2m',
  });
  expect(bad).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/periodicity' }, { pointer: '/periodicty' }] },
  });
});

test('a list of large monitors has all of them, in their order', async () => {
  const texts = Array.from({ length: 8 }, (_, index) =>
    index % 3 === 2 ? 'small' : `${index}`.repeat(250_000),
  );
  const monitor = JSON.parse(`{${MONITOR}}`) as object;
  for (const text of texts) {
    await api.call('POST', '/v1/monitors', { ...monitor, name: 'listed', method: 'POST', body: text });
  }
  const { body } = await api.call('GET', '/v1/monitors?name=listed');
  const { data, total } = body as { data: { id: string; body: string }[]; total: number };
  expect(total).toBe(texts.length);
  expect(data.map((one) => one.body)).toEqual(texts);
  const page = await api.call('GET', '/v1/monitors?name=listed&limit=3&offset=5');
  expect(page.body).toEqual({ data: data.slice(5), total, limit: 3, offset: 5 });
});

test('a large component belongs to the page of its path', async () => {
  const page = await api.call('POST', '/v1/status-pages', { title: 'a', slug: 'large' });
  const { id } = page.body as { id: string };
  const text = `{"name":"a","type":"static"${' '.repeat(5_000)}}`;
  const answer = await api.call('POST', `/v1/status-pages/${id}/components`, text);
  expect(answer).toMatchObject({ status: 201, body: { page_id: id, name: 'a' } });
});

test('at most a hundred errors of a list are answered', async () => {
  const body = { name: 'a', provider_type: 'email', email: { email: 'a@example.com' } };
  const answer = await api.call('POST', '/v1/notifications', { ...body, monitor_ids: Array(10_000).fill(0) });
  expect(answer).toMatchObject({
    status: 422,
    body: { detail: 'the body has 100 errors; nothing was changed' },
  });
});

test('an Idempotency-Key belongs to the whole large body', async () => {
  const headers = { 'idempotency-key': 'large' };
  const send = (value: string) => {
    const sent = { ...(JSON.parse(`{${MONITOR}}`) as object), headers: [{ key: 'X-A', value }] };
    return api.call('POST', '/v1/monitors', sent, headers);
  };
  const [first, again] = [await send('a'.repeat(5_000)), await send('a'.repeat(5_000))];
  expect(first.status).toBe(201);
  expect(again).toMatchObject({ status: 201, body: { id: (first.body as { id: string }).id } });
  expect((await send(`b${'a'.repeat(4_999)}`)).status).toBe(409);
});
