import { expect, test } from 'vitest';
import { answerText } from './answer-text.ts';

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
  expect(Buffer.from(await answerText(body)).toString()).toBe(JSON.stringify(body));
});
