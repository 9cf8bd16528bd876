import { expect, test } from 'vitest';
import { absenceText, lengthText } from './judge.ts';

const AT = Date.UTC(2026, 10, 22, 10);
const REGION = { region: 'hosta-fra', name: null, agents: [] };

test.each([
  [3, '3.0 s'],
  [180, '3 min'],
  [3 * 3_600, '3 h'],
  [47 * 3_600, '47 h'],
  [3 * 86_400, '3 days'],
])('%d s are %s', (seconds, text) => {
  expect(lengthText(seconds)).toBe(text);
});

test.each([
  ['an absence', { absent_since: AT, last_seen_at: AT + 60_000 }, 'for 3 min, since 2026-11-22 10:00:00 UTC'],
  [
    'an older coordinator',
    { absent_since: null, last_seen_at: AT },
    'for 3 min, since 2026-11-22 10:00:00 UTC',
  ],
  [
    'a clock behind',
    { absent_since: AT + 200_000, last_seen_at: null },
    'for 0.0 s, since 2026-11-22 10:03:20 UTC',
  ],
  ['no agent ever', { absent_since: null, last_seen_at: null }, 'never had one'],
])('%s', (_, instants, text) => {
  expect(absenceText({ ...REGION, ...instants }, AT + 180_000)).toBe(text);
});
