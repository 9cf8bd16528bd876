import { createHash, randomBytes } from 'node:crypto';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import { Secret } from '@svc/shared/secret.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FIXED_NUMBERS } from '../store/results/region-numbers.ts';
import { JobTokens } from './job-tokens.ts';

const key = randomBytes(32);
const tokens = new JobTokens(new Secret(key));
const id = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const instant = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const region = fc.constantFrom(...REGIONS);

/** The token, computed as it is defined. */
function definedToken(monitor: number, asked: Region, slot: number): string {
  const index = FIXED_NUMBERS.numberOf(asked);
  const output = createHash('shake256', { outputLength: 136 })
    .update(Buffer.concat([key, Buffer.from(`svc-job ${monitor} ${slot} ${Math.floor(index / 8)}`)]))
    .digest('base64url');
  return output.slice(22 * (index % 8), 22 * (index % 8) + 22);
}

test('the tokens of eight regions are parts of one SHAKE256 of monitor and slot, whatever was computed before', () => {
  fc.assert(
    fc.property(id, instant, region, (monitor, slot, asked) => {
      expect(tokens.tokenOf(monitor, asked, slot)).toBe(definedToken(monitor, asked, slot));
    }),
  );
});

test('the longest message fits', () => {
  const { MAX_SAFE_INTEGER: most } = Number;
  const token = tokens.tokenOf(most, 'hostc-asia-southeast1', most);
  expect(token).toHaveLength(22);
  expect(tokens.tokenOf(most, 'hostc-asia-southeast1', most - 1)).not.toBe(token);
});

test('all regions of a slot have different tokens', () => {
  expect(new Set(REGIONS.map((each) => tokens.tokenOf(7, each, 1_000))).size).toBe(REGIONS.length);
});

test('a token is valid for its own job only', () => {
  const token = tokens.tokenOf(7, 'hosta-fra', 1_000);
  expect(tokens.isValid(token, 7, 'hosta-fra', 1_000)).toBe(true);
  expect(tokens.isValid(token, 8, 'hosta-fra', 1_000)).toBe(false);
  expect(tokens.isValid(token, 7, 'hostb-fra', 1_000)).toBe(false);
  expect(tokens.isValid(token, 7, 'hosta-gru', 1_000)).toBe(false);
  expect(tokens.isValid(token, 7, 'hosta-fra', 1_001)).toBe(false);
  expect(new JobTokens(new Secret(randomBytes(32))).isValid(token, 7, 'hosta-fra', 1_000)).toBe(false);
});

test('jobs that share a place in the cache have the same tokens as without a cache', () => {
  const places = 8_192;
  const monitor = fc
    .tuple(fc.nat({ max: 3 }), fc.nat({ max: 3 }))
    .map(([a, b]) => 1 + (a * places) / 4 + b * places);
  const job = fc.record({ monitor, region, slot: fc.nat({ max: 2 }), isReported: fc.boolean() });
  fc.assert(
    fc.property(fc.array(job, { maxLength: 40 }), (jobs) => {
      for (const { monitor, region, slot, isReported } of jobs) {
        const token = definedToken(monitor, region, slot);
        if (isReported) {
          expect(tokens.isValid(token, monitor, region, slot)).toBe(true);
          expect(tokens.isValid(token, monitor, region, slot + 3)).toBe(false);
        } else expect(tokens.tokenOf(monitor, region, slot)).toBe(token);
      }
    }),
  );
});

test('no place in the cache is valid before it is used', () => {
  const zeros = '\0'.repeat(22);
  expect(new JobTokens(new Secret(key)).isValid(zeros, 0, REGIONS[0], 0)).toBe(false);
});

test.each([
  '',
  'short',
  'x'.repeat(22),
  '\0'.repeat(22),
  'x'.repeat(64),
  'ü'.repeat(22),
  '\u{1f600}'.repeat(11),
])('%j is no valid token', (text) => {
  expect(tokens.isValid(text, 7, 'hosta-fra', 1_000)).toBe(false);
});

test('a key of another length is refused', () => {
  expect(() => new JobTokens(new Secret(randomBytes(16)))).toThrow('32 bytes');
});
