import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import { REGIONS } from '@svc/shared/regions.ts';
import { expect, test } from 'vitest';
import { ERROR_TYPES } from './error-type.ts';
import { encodeNote, type ReadResult, readNote } from './note.ts';

function resultOf(more: Partial<CheckResult> = {}): CheckResult {
  return {
    monitor: 5,
    version: 1,
    slot: 1_795_000_000_000,
    token: 't',
    outcome: 'passed',
    started_at: 1_795_000_000_001,
    latency: 12.3,
    attempts: [],
    ...more,
  };
}

function read(bytes: Uint8Array | null): ReadResult[] {
  const found: ReadResult[] = [];
  readNote(bytes ?? new Uint8Array(), (result) => found.push({ ...result, phases: [...result.phases] }));
  return found;
}

test('what is noted is read again', () => {
  const failed = resultOf({
    monitor: 9,
    outcome: 'failed',
    status_code: 503,
    error_message: 'expected a status code from 200 to 299, saw 503',
    certificate_expires_at: 1_800_000_000_000,
    phases: { dns: 0, connect: 1.5, transfer: 2 },
  });
  const bytes = encodeNote([
    { result: resultOf(), region: 'hosta-fra' },
    { result: failed, region: 'hostc-us-east4' },
  ]);
  const [first, second] = read(bytes);
  expect(first).toMatchObject({
    monitorId: 5,
    region: REGIONS.indexOf('hosta-fra'),
    outcome: 0,
    latencyMs: 12.3,
  });
  expect([first?.statusCode, first?.errorType, first?.certificateExpiresAt]).toEqual([NaN, NaN, NaN]);
  expect(second).toMatchObject({
    monitorId: 9,
    region: REGIONS.indexOf('hostc-us-east4'),
    outcome: 2,
    statusCode: 503,
    errorType: ERROR_TYPES.indexOf('assertion'),
    certificateExpiresAt: 1_800_000_000_000,
    phases: [0, 1.5, NaN, NaN, 2],
  });
});

test('checks that did not run leave nothing', () => {
  const notRun = resultOf({ outcome: 'not_run', reason: 'overloaded' });
  expect(encodeNote([{ result: notRun, region: 'hosta-fra' }])).toBeNull();
  const both = encodeNote([
    { result: notRun, region: 'hosta-fra' },
    { result: resultOf({ outcome: 'degraded' }), region: 'hosta-fra' },
  ]);
  expect(read(both).map(({ outcome }) => outcome)).toEqual([1]);
});

test('a note of another layout is passed over', () => {
  const other = new Uint8Array(Float64Array.of(2, 1, 2, 3).buffer);
  expect(readNote(other, () => expect.unreachable())).toBe(false);
  expect(readNote(new Uint8Array(), () => expect.unreachable())).toBe(false);
});

test('a note that ends too early has the results before its end', () => {
  const bytes = encodeNote([
    { result: resultOf(), region: 'hosta-fra' },
    { result: resultOf({ monitor: 9 }), region: 'hosta-fra' },
  ]);
  for (let length = 1; length < (bytes?.length ?? 0); length += 1) {
    const found: number[] = [];
    const isWhole = readNote(bytes?.subarray(0, length) ?? new Uint8Array(), ({ monitorId }) =>
      found.push(monitorId),
    );
    expect([5].slice(0, found.length)).toEqual(found);
    expect(isWhole).toBe(length === 1 || length === 23);
  }
});
