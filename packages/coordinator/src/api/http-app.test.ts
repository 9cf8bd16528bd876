import { expect, test } from 'vitest';
import { answerText } from './http-app.ts';

test.each([
  [{ data: [], total: 0 }],
  [{ data: [{ a: 1 }, null, 'x'], total: 3, limit: 50, next_cursor: null }],
  [{ data: [1] }],
  [{ data: 'text', total: 0 }],
  [{ total: 0, data: [1] }],
  ['text'],
  [null],
  [[1, 2]],
])('%j is written as JSON.stringify does', async (body) => {
  expect(await new Response(await answerText(body)).text()).toBe(JSON.stringify(body));
});

test('a long list is written in the same way, in parts', async () => {
  const body = {
    data: Array.from({ length: 9 }, (_, index) => ({ index, text: 'ü'.repeat(100_000) })),
    total: 9,
  };
  const written = await answerText(body);
  expect(written).toBeInstanceOf(ReadableStream);
  expect(await new Response(written).text()).toBe(JSON.stringify(body));
});
