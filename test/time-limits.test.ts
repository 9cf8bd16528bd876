/** All tests have the time limits of `vitest.config.ts`: a shorter one makes a test of a busy machine. */
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { TIME_LIMITS } from './support/time-limits.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Where a test, a hook or a poll is given milliseconds. */
const PLACES = [
  /\b(?:test|describe)\b[^\n]*, \{ timeout: ([\d_]+) \}, /g,
  /, \{\n +timeout: ([\d_]+),\n *\}, (?:async|\()/g,
  /^ +\{ timeout: ([\d_]+) \},\n +(?:async )?\(/gm,
  /^ *\}, ([\d_]{4,})\);$/gm,
  /\bpoll\([^;]*\btimeout: ([\d_]+)/g,
];
/** Its limit is a second by default. */
const WAIT_FOR = /\bvi\.(?:waitFor|waitUntil)\(/g;

const files = globSync(['{packages,deploy,docs,test}/**/*.test.ts'], {
  cwd: ROOT,
  exclude: (path) => path.includes('node_modules'),
});

test('no test, hook or poll sets a shorter limit', () => {
  const shorter = files.flatMap((file) => {
    const text = readFileSync(`${ROOT}${file}`, 'utf8');
    const set = PLACES.flatMap((place) => [...text.matchAll(place)])
      .filter(([, ms = '']) => Number(ms.replaceAll('_', '')) < TIME_LIMITS.pollMs)
      .map(([found]) => found);
    return [...set, ...[...text.matchAll(WAIT_FOR)].map(([found]) => found)].map(
      (found) => `${file}: ${found}`,
    );
  });
  expect(shorter).toEqual([]);
});
