import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { BodyEnd } from './body.ts';
import { DecodedBody } from './decoded-body.ts';
import { KeptBodies } from './kept-bodies.ts';
import { Semaphore } from './semaphore.ts';

const TEXT = 'All services are up.\n'.repeat(10_000);

/** Decodes `TEXT` with this much memory. Resolves with the list of ends after the first end. */
async function endsWith(memoryBytes: number): Promise<{ ends: BodyEnd[]; body: DecodedBody }> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const ends: BodyEnd[] = [];
  const onBodyEnd = (end: BodyEnd) => {
    ends.push(end);
    resolve();
  };
  const listener = { onBodyFull: () => {}, onBodyEnd };
  const body = new DecodedBody(['gzip'], listener, new KeptBodies(memoryBytes), new Semaphore(1));
  const encoded = gzipSync(TEXT);
  body.write(encoded, 0, encoded.length);
  body.end();
  await promise;
  return { ends, body };
}

test('a body that is too long ends once, and the rest of it is not decoded', async () => {
  const short = await endsWith(40_000);
  const whole = await endsWith(1_000_000);
  // The whole text was decoded meanwhile, so the rest of the first body would have been decoded too.
  expect(whole.body.bytes().toString()).toBe(TEXT);
  expect([short.ends, whole.ends]).toEqual([[{ kind: 'no-room' }], [{ kind: 'complete' }]]);
  for (const { body } of [short, whole]) body.release();
});
