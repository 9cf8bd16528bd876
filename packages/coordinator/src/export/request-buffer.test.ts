import { expect, test } from 'vitest';
import { RequestBuffer } from './request-buffer.ts';

const MIB = 1_024 * 1_024;

function bytesAfter(requests: number, endpoints: number): number {
  const buffer = new RequestBuffer();
  const body = new Uint8Array(100_000);
  for (let at = 0; at < requests; at += 1)
    buffer.push({ body, encoding: 'json', points: 1, at, collection: at }, endpoints);
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

test('a refused encoding takes its requests along, and leaves the others in their order', () => {
  const buffer = new RequestBuffer();
  const body = new Uint8Array(10);
  const push = (encoding: 'json' | 'protobuf', collection: number, points: number) =>
    buffer.push({ body, encoding, collection, points, at: 0 }, 1);
  push('json', 1, 1);
  push('protobuf', 2, 10);
  push('protobuf', 3, 100);
  push('json', 4, 1_000);
  expect(buffer.clear('protobuf', 3)).toBe(10);
  expect([buffer.points, buffer.bytes, buffer.length]).toEqual([1_001, 20, 2]);
  expect([buffer.shift()?.collection, buffer.shift()?.collection]).toEqual([1, 4]);
});

test('a log is encoded in its place', () => {
  const buffer = new RequestBuffer();
  const body = new Uint8Array(10);
  buffer.push({ body, encoding: null, collection: 1, points: 5, at: 7 }, 1);
  buffer.push({ body, encoding: null, collection: 2, points: 6, at: 8 }, 1);
  const encoded = buffer.encodeOldest(new Uint8Array(30), 'json');
  expect(buffer.oldest).toBe(encoded);
  expect(encoded).toMatchObject({ encoding: 'json', collection: 1, points: 5, at: 7 });
  expect([buffer.points, buffer.bytes, buffer.length]).toEqual([11, 40, 2]);
  expect(buffer.clear('json', 1)).toBe(0);
  expect([buffer.points, buffer.bytes, buffer.oldest?.collection]).toEqual([6, 10, 2]);
});
