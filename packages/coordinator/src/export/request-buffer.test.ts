import { expect, test } from 'vitest';
import { RequestBuffer } from './request-buffer.ts';

const MIB = 1_024 * 1_024;

function bytesAfter(requests: number, endpoints: number): number {
  const buffer = new RequestBuffer();
  const body = new Uint8Array(100_000);
  for (let at = 0; at < requests; at += 1) buffer.push({ body, points: 1, at, collection: at }, endpoints);
  return buffer.bytes;
}

test.each([1, 64, 1_000, 2_000])('the buffers of %i endpoints take 256 MiB at most', (endpoints) => {
  const bytes = bytesAfter(100, endpoints);
  expect(bytes).toBeLessThanOrEqual(4 * MIB);
  expect(bytes * endpoints).toBeLessThanOrEqual(256 * MIB);
  expect(bytes).toBeGreaterThan(0);
});

test('the newest request is kept, whatever its size', () => {
  expect(bytesAfter(3, 100_000)).toBe(100_000);
});
