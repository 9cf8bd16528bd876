import { expect, test } from 'vitest';
import { gunzipped, gzipped } from './gzipped.ts';

test('a compressed body holds no more memory than it has bytes', () => {
  const body = Buffer.from('{"resourceMetrics":[]}'.repeat(50));
  const small = gzipped(body);
  expect(gunzipped(small)).toEqual(body);
  expect(small.buffer.byteLength).toBe(small.length);
});
