import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Left } from '../../../../test/support/retention/main.ts';

const MAIN = fileURLToPath(new URL('../../../../test/support/retention/main.ts', import.meta.url));

/** With a young generation of this size, no collection starts by itself during a few attempts. */
const FLAGS = ['--expose-gc', '--min-semi-space-size=16'];

/**
 * Maximum part of the attempts that may move to the old generation. Node alone moves up to 0.45 (HTTP/2, both
 * sides). When svc kept attempts, the part was 0.65 to 1.6.
 */
const SHARE_OF_NODE = 0.6;

let all: Left[] = [];
beforeAll(async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [...FLAGS, MAIN]);
  all = stdout
    .trim()
    .split('\n')
    .map((line): Left => JSON.parse(line));
});

describe('an attempt that has ended', () => {
  test('ended as it should, in every way', () => {
    expect(all.length).toBeGreaterThan(20);
    expect(all.map(({ outcomes }) => outcomes.join())).toEqual(all.map(({ name }) => name.split(': ')[1]));
  });

  test('is referenced by nothing', () => {
    expect(all.filter(({ kept }) => kept > 0)).toEqual([]);
  });

  test('is gone with the next collection of the young generation (decision 0020)', () => {
    expect(all.filter(({ moved }) => moved > SHARE_OF_NODE)).toEqual([]);
  });
});
