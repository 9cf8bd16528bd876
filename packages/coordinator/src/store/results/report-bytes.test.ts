import {
  type Attempt,
  type CheckResult,
  checkResult,
  NOT_RUN_REASONS,
  OUTCOMES,
  type Outcome,
} from '@svc/shared/messages/check-result.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FIXED_NUMBERS } from './region-numbers.ts';
import {
  type Finding,
  type NewReport,
  PHASES,
  ReportWriter,
  readOutcomes,
  readReports,
} from './report-bytes.ts';

const SLOT = Date.UTC(2026, 0, 1) + 12_350;
const AGENT = 0xfe_dc_ba_98_76;
const HTTP: Finding = {
  outcome: 'passed',
  version: 3,
  started_at: SLOT + 2,
  latency: 48.5,
  phases: { dns: 0.5, connect: 11.2, first_byte: 36.1, transfer: 0.7 },
  status_code: 200,
  attempts: [{ outcome: 'passed', started_ms: 0, latency: 48.5, status_code: 200 }],
};
const HTTPS: Finding = {
  ...HTTP,
  latency: 248.5,
  phases: { dns: 18.5, connect: 41.2, tls: 60.1, first_byte: 108, transfer: 20.7 },
  certificate_expires_at: Date.UTC(2026, 2, 20),
  attempts: [{ outcome: 'passed', started_ms: 0, latency: 248.5, status_code: 200 }],
};
const REFUSED = {
  outcome: 'failed',
  latency: 0.4,
  error_message: 'connect ECONNREFUSED 192.0.2.1:443',
} as const;
const DOWN: Finding = {
  ...REFUSED,
  version: 3,
  started_at: SLOT + 2,
  phases: { dns: 0.1, connect: 0.3 },
  attempts: [0, 500, 1_500, 3_500].map((started_ms) => ({ ...REFUSED, started_ms })),
};
const ABSTAINED: Finding = { outcome: 'not_run', version: 3, reason: 'no-agent', attempts: [] };

const numberOf = (region: Region) => FIXED_NUMBERS.numberOf(region);

const byRegion = (outcomes: ReadonlyMap<number, Outcome>) =>
  Array.from(outcomes, ([number, outcome]) => [FIXED_NUMBERS.regionOf(number), outcome] as const);

type Packed = Partial<NewReport> & { region?: Region; found: Finding };

function packed(...reports: Packed[]): Uint8Array {
  const writer = new ReportWriter();
  for (const report of reports) {
    const { region = 'hosta-fra', ...others } = report;
    writer.append(SLOT, { number: numberOf(region), agent: AGENT, recordedAt: SLOT + 300, ...others });
  }
  return writer.copy();
}

describe('what is read is what was recorded', () => {
  const silent: Finding = { outcome: 'failed', version: 1, started_at: SLOT, attempts: [] };
  const failed: Attempt = { outcome: 'failed', started_ms: 0, latency: 700, timed_out: true };
  test.each<[string, Finding]>([
    ['one attempt', HTTP],
    ['a certificate', HTTPS],
    ['attempts that failed alike', DOWN],
    ['an attempt that differs from the result', { ...HTTP, attempts: [failed, ...HTTP.attempts] }],
    ['an attempt that did not begin with the check', { ...HTTP, attempts: [{ ...failed, started_ms: 1 }] }],
    ['no attempt but a latency', { ...HTTP, attempts: [] }],
    ['as few values as possible', silent],
    ['a time-out', { ...silent, latency: 700, timed_out: true, phases: {}, attempts: [failed] }],
    ['a flag that is false', { ...HTTP, timed_out: false, body_truncated: false }],
    ['a long body', { ...HTTP, body_truncated: true }],
    ['phases that do not add up', { ...HTTP, phases: { connect: 0, first_byte: 2 } }],
    ['more decimals than agents send', { ...HTTP, latency: 0.12, phases: { dns: 1 / 3 } }],
    [
      'instants that are far away',
      { ...HTTPS, started_at: 0, certificate_expires_at: -8_640_000_000_000_000 },
    ],
    ['a certificate that ends within a second', { ...HTTPS, certificate_expires_at: SLOT + 1 }],
    [
      'the largest numbers',
      { ...HTTP, version: Number.MAX_SAFE_INTEGER, latency: 86_400_000, status_code: 999 },
    ],
    ['a message of all kinds of characters', { ...silent, error_message: '"\\\u0000é\u{1f600}\ud800' }],
  ])('%s', (_, found) => {
    const [read, ...others] = readReports(SLOT, packed({ found }));
    expect(others).toEqual([]);
    expect(read).toEqual({ ...found, region: 'hosta-fra', agent: AGENT, recorded_at: SLOT + 300 });
  });

  test('a region that did not report has no agent', () => {
    const [read] = readReports(SLOT, packed({ found: ABSTAINED, agent: null }));
    expect(read).toEqual({ ...ABSTAINED, region: 'hosta-fra', agent: null, recorded_at: SLOT + 300 });
  });

  test('any result, of any region', () => {
    fc.assert(
      fc.property(
        anyResult,
        anyRegion,
        fc.integer({ min: -1e13, max: 1e13 }),
        anyAgent,
        (result, ...recorded) => {
          const [region, late, agent] = recorded;
          const parsed = checkResult.parse(result);
          const { monitor: _, slot, token: __, assertions: ___, ...found } = parsed;
          const writer = new ReportWriter();
          writer.append(slot, { number: numberOf(region), agent, recordedAt: slot + late, found });
          const expected = { ...found, region, agent, recorded_at: slot + late };
          expect(readReports(slot, writer.copy())).toEqual([expected]);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});

test.each<[string, number, Finding, number | null]>([
  ['an HTTP check that passed', 21, HTTP, AGENT],
  ['an HTTPS check that passed', 29, HTTPS, AGENT],
  ['a check that failed after three retries', 146, DOWN, AGENT],
  ['an abstention', 8, ABSTAINED, null],
])('%s takes %i bytes', (_, bytes, found, agent) => {
  expect(packed({ found, agent })).toHaveLength(bytes);
});

describe('a later version reads what is stored now:', () => {
  test.each<[string, Finding, number | null, string]>([
    ['a usual report', HTTPS, AGENT, '1c067cb51303d804fedcba987604c8019fb9019c03d904b808e8d3b606'],
    ['an abstention', ABSTAINED, null, '0706830303d80400'],
  ])('%s', (_, found, agent, hex) => {
    const [read] = readReports(SLOT, Buffer.from(hex, 'hex'));
    expect(read).toEqual({ ...found, region: 'hosta-fra', agent, recorded_at: SLOT + 300 });
  });

  test('values that are stored as their place in a list', () => {
    expect(OUTCOMES).toEqual(['passed', 'degraded', 'failed', 'not_run']);
    expect(PHASES.slice(0, 5)).toEqual(['dns', 'connect', 'tls', 'first_byte', 'transfer']);
    const places = { 'no-agent': 0, 'job-lost': 4, 'no-ipv6': 9 } as const;
    for (const reason of Object.keys(places) as (keyof typeof places)[])
      expect(NOT_RUN_REASONS.indexOf(reason)).toBe(places[reason]);
    const regions = {
      'hosta-ams': 0,
      'hosta-sin': 15,
      'hostb-fra': 18,
      'hostc-asia-southeast1': 27,
    } as const;
    for (const region of Object.keys(regions) as (keyof typeof regions)[])
      expect(REGIONS.indexOf(region)).toBe(regions[region]);
  });
});

describe('the report of a region', () => {
  const outcomesOf = (...reports: Parameters<typeof packed>) => byRegion(readOutcomes(packed(...reports)));
  const B: Region = 'hostb-par';

  test('is the first report that is not `not_run`', () => {
    const [first, later] = [{ found: DOWN }, { found: HTTP }];
    expect(outcomesOf(first, { found: ABSTAINED }, later)).toEqual([['hosta-fra', 'failed']]);
    expect(outcomesOf({ found: ABSTAINED }, { found: HTTPS, region: B }, first, later)).toEqual([
      ['hosta-fra', 'failed'],
      [B, 'passed'],
    ]);
  });

  test('is the first report if all are `not_run`', () => {
    const [read] = readReports(
      SLOT,
      packed({ found: ABSTAINED }, { found: { ...ABSTAINED, reason: 'job-lost' } }),
    );
    expect(read?.reason).toBe('no-agent');
  });

  test('does not depend on whether reports were packed together or joined later', () => {
    const reports = fc.array(fc.record({ region: anyRegion, found: fc.constantFrom(HTTP, DOWN, ABSTAINED) }));
    fc.assert(
      fc.property(reports, (some) => {
        const apart = some.map((report) => packed(report));
        expect(readReports(SLOT, Buffer.concat(apart))).toEqual(readReports(SLOT, packed(...some)));
        const first = new Map<Region, string>();
        for (const { region, found } of some) {
          if ((first.get(region) ?? 'not_run') === 'not_run') first.set(region, found.outcome);
        }
        expect(new Map(byRegion(readOutcomes(packed(...some))))).toEqual(first);
      }),
    );
  });
});

describe('reports of a later version', () => {
  test('unknown members of the rest are ignored', () => {
    const bytes = Buffer.from(packed({ found: DOWN })).toString('latin1');
    const later = Buffer.from(bytes.replace('"error_message":', '"other_message":'), 'latin1');
    const [read] = readReports(SLOT, later);
    const { error_message: _, ...known } = DOWN;
    const attempts = DOWN.attempts.map(({ error_message: __, ...attempt }) => attempt);
    expect(read).toEqual({ ...known, attempts, region: 'hosta-fra', agent: AGENT, recorded_at: SLOT + 300 });
  });

  test('unknown phases are ignored', () => {
    const found = { ...HTTPS, phases: { dns: 18.5 } };
    const bytes = Buffer.from(packed({ found }));
    // The last seven bytes are the bits of the phases (one byte), the first phase (two bytes) and the
    // certificate (four bytes).
    const bits = bytes.length - 7;
    expect(bytes[bits]).toBe(0b1);
    const later = Buffer.concat([bytes.subarray(0, -4), Buffer.of(25), bytes.subarray(-4)]);
    later[bits] = 0b10_0001;
    later[0] = later.length - 1;
    expect(readReports(SLOT, later)).toMatchObject([found]);
  });

  test('unknown regions are ignored, and an unknown reason is an internal error', () => {
    const bytes = packed({ found: HTTPS }, { found: ABSTAINED, agent: null });
    const foreign = Buffer.from(bytes);
    foreign[1] = REGIONS.length;
    foreign[foreign.length - 1] = NOT_RUN_REASONS.length;
    const [read, ...others] = readReports(SLOT, foreign);
    expect(read).toMatchObject({ outcome: 'not_run', reason: 'internal-error' });
    expect(others).toEqual([]);
  });
});

describe('damaged bytes', () => {
  test('of a report hide it and the reports after it in the row', () => {
    const bytes = packed({ found: HTTP }, { found: DOWN, region: 'hostb-par' });
    expect(readReports(SLOT, bytes.subarray(0, -1))).toMatchObject([{ region: 'hosta-fra' }]);
    expect(readReports(SLOT, new Uint8Array([0]))).toEqual([]);
  });

  test('of a rest hide the rest only', () => {
    const bytes = Buffer.from(packed({ found: DOWN }));
    bytes[bytes.length - 1] = 0;
    const { error_message: _, ...others } = DOWN;
    expect(readReports(SLOT, bytes)).toMatchObject([{ ...others, attempts: [] }]);
  });

  test('are read without an error, whatever they are', () => {
    const some = packed(
      { found: HTTPS },
      { found: DOWN, region: 'hostb-par' },
      { found: ABSTAINED, agent: null },
    );
    const anyDamage = fc.array(fc.tuple(fc.nat(some.length - 1), fc.nat(255)), { maxLength: 4 });
    fc.assert(
      fc.property(anyDamage, fc.nat(some.length), (damage, length) => {
        const bytes = Uint8Array.from(some);
        for (const [at, byte] of damage) bytes[at] = byte;
        readReports(SLOT, bytes.subarray(0, length));
      }),
    );
  });
});

const anyRegion = fc.constantFrom(...REGIONS);
const anyAgent = fc.integer({ min: 0, max: 2 ** 40 - 1 });
const tenths = fc.integer({ min: 0, max: 864_000_000 }).map((value) => value / 10);
const duration = fc.oneof(
  { weight: 4, arbitrary: tenths },
  fc.double({ min: 0, max: 86_400_000, noNaN: true }).map((ms) => ms + 0),
);
const count = fc.oneof(fc.nat(), fc.maxSafeNat());
const instant = fc.oneof(fc.integer({ min: SLOT - 1e6, max: SLOT + 1e6 }), fc.maxSafeNat());
const message = fc.string({ unit: 'binary', maxLength: 200 });

const anyAttempt = fc.record(
  {
    outcome: fc.constantFrom(...OUTCOMES),
    started_ms: duration,
    latency: duration,
    status_code: fc.maxSafeInteger(),
    error_message: message,
    timed_out: fc.boolean(),
  },
  { requiredKeys: ['outcome', 'started_ms', 'latency'] },
);
const anyPhases = fc.record(
  { dns: duration, connect: duration, tls: duration, first_byte: duration, transfer: duration },
  { requiredKeys: [] },
);
const anyResult: fc.Arbitrary<CheckResult> = fc
  .record(
    {
      monitor: fc.integer({ min: 1 }),
      version: count.map((version) => version + 1).filter(Number.isSafeInteger),
      slot: fc.oneof(fc.constant(SLOT), fc.nat(8_000_000_000_000)),
      token: fc.constant('t'),
      outcome: fc.constantFrom(...OUTCOMES),
      reason: fc.constantFrom(...NOT_RUN_REASONS),
      started_at: instant,
      latency: duration,
      phases: anyPhases,
      status_code: fc.nat(999),
      error_message: message,
      timed_out: fc.boolean(),
      attempts: fc.array(anyAttempt, { maxLength: 11 }),
      certificate_expires_at: fc
        .oneof(
          instant,
          fc.integer({ min: -8_640_000_000_000, max: 8_640_000_000_000 }).map((seconds) => seconds * 1_000),
        )
        .filter((at) => Math.abs(at) <= 8_640_000_000_000_000),
      body_truncated: fc.boolean(),
      isOnce: fc.boolean(),
    },
    { requiredKeys: ['monitor', 'version', 'slot', 'token', 'outcome', 'started_at', 'attempts', 'isOnce'] },
  )
  .map(({ isOnce, ...result }) => {
    const { outcome, latency, status_code, error_message, timed_out } = result;
    if (!isOnce || latency === undefined) return result as CheckResult;
    const more = { status_code, error_message, timed_out };
    const only = { outcome, started_ms: 0, latency, ...JSON.parse(JSON.stringify(more)) };
    return { ...result, attempts: [only] } as CheckResult;
  });
