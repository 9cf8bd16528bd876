import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { httpCheck, tcpCheck } from '../../../test/support/scripted-probe.ts';
import { readJob, readJobsMessage } from './job-message.ts';

const RESULTS = 'svc.results.hosta-fra';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

const job = (check: unknown): Record<string, unknown> => ({
  monitor: 1,
  version: 2,
  slot: 3,
  token: 't',
  start_within_ms: 4,
  check,
});

describe('a message of the jobs subject', () => {
  test('is a batch or a request to run now', () => {
    const batch = { v: 1, kind: 'jobs', jobs: [1, 'not read here'], results: RESULTS };
    expect(readJobsMessage(bytes(JSON.stringify(batch)))).toEqual(batch);
    const runNow = { v: 1, kind: 'run_now', run: 'r', check: tcpCheck() };
    const read = readJobsMessage(bytes(JSON.stringify(runNow)));
    if (typeof read === 'string' || read.kind !== 'run_now') throw new TypeError('it is not read');
    expect({ ...read, check: read.check.reveal() }).toEqual(runNow);
  });

  test.each([
    ['a later version', { v: 2 }, true],
    ['no version', { v: 0 }, false],
    ['512 jobs', { jobs: Array(512).fill(1) }, true],
    ['513 jobs', { jobs: Array(513).fill(1) }, false],
    ['no subject for results', { results: undefined }, false],
    ['a subject that is no text', { results: 1 }, false],
    ['a subject without end', { results: 'x'.repeat(257) }, false],
  ])('with %s', (_, change, isRead) => {
    const batch = { v: 1, kind: 'jobs', jobs: [1], results: RESULTS, ...change };
    expect(readJobsMessage(bytes(JSON.stringify(batch)))).toEqual(isRead ? batch : 'invalid');
  });

  test('may have exactly 1 MiB', () => {
    const around = JSON.stringify({ v: 1, kind: 'jobs', jobs: [''], results: RESULTS }).length;
    const message = (length: number): Uint8Array =>
      bytes(
        JSON.stringify({
          v: 1,
          kind: 'jobs',
          jobs: ['x'.repeat(length - around)],
          results: RESULTS,
        }),
      );
    expect(readJobsMessage(message(1_048_576))).toMatchObject({ kind: 'jobs' });
    expect(readJobsMessage(message(1_048_577))).toBe('oversized');
  });

  test('may be anything at all: nothing is thrown', () => {
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array(), fc.json().map(bytes)), (data) => {
        expect(['not-json', 'invalid']).toContain(readJobsMessage(data));
      }),
    );
  });
});

describe('a job', () => {
  test('is read with what this version knows of it', () => {
    const read = readJob({
      ...job({ ...httpCheck('http://a.example/'), new_setting: 1 }),
      slow: true,
      later: 'x',
    });
    if (read.is !== 'job') throw new TypeError(`it is ${read.is}`);
    expect({ ...read.job, check: read.job.check.reveal() }).toEqual({
      ...job(httpCheck('http://a.example/')),
      slow: true,
    });
  });

  test.each([
    [0, true],
    [60_000, true],
    [60_001, false],
    [-1, false],
    [0.5, false],
    ['1', false],
  ])('that is to wait %j ms is read: %s', (wait_ms, isRead) => {
    expect(readJob({ ...job(tcpCheck()), wait_ms }).is).toBe(isRead ? 'job' : 'invalid');
  });

  test('whose check is unknown or broken is told apart from one that cannot be answered', () => {
    for (const type of ['icmp', 'tcp'])
      expect(readJob(job({ type }))).toMatchObject({
        is: 'unsupported',
        job: { monitor: 1, slot: 3, token: 't' },
      });
    expect(readJob({ ...job({ type: 'icmp' }), version: 0 })).toEqual({ is: 'invalid', key: [1, 3] });
    expect(readJob({ check: tcpCheck() })).toEqual({ is: 'invalid', key: null });
  });

  test('may be anything at all: nothing is thrown', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(readJob(value).is).toBe('invalid');
      }),
    );
  });
});
