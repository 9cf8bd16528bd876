import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ConfiguredStore, configuredStore } from '../../../../../test/support/configured-store.ts';
import { createResource } from '../../../../../test/support/declared-resources.ts';
import { HeldReads } from '../../../../../test/support/held-reads.ts';
import { writeCheckedDomain } from '../../store/pages/page-domains.ts';
import { DomainDirectory } from './domains.ts';

const DOMAIN = 'status.example.org';
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

let reads: HeldReads;
let parts: ConfiguredStore;
let directory: DomainDirectory;
let pageId: number;

beforeEach(async () => {
  reads = new HeldReads();
  parts = await configuredStore(reads.workers);
  directory = new DomainDirectory(parts);
  pageId = await createResource(parts, 'svc_status_page', { custom_domain: DOMAIN });
  await check('verified');
});
afterEach(async () => {
  reads.release();
  await parts.dispose();
});

const check = (state: 'verified' | 'pending') =>
  parts.store.transaction((tx) =>
    writeCheckedDomain(tx, {
      ...{ pageId, declared: DOMAIN, domain: DOMAIN, state, problem: null },
      ...{ failures: 0, checkedAt: 1, verifiedAt: 1 },
    }),
  );

async function found(host = DOMAIN): Promise<number | null> {
  return (await directory.findPageOf(host))?.pageId ?? null;
}

/** Finds the page of a host while the clock advances step by step. Returns its id. */
async function foundWithin(ms: number, host = DOMAIN): Promise<number | null> {
  const answer = found(host);
  answer.catch(() => {});
  await parts.clock.advanceSettling(ms);
  return answer;
}

test('a host is read once for all concurrent requests, and not again for two seconds', async () => {
  const before = reads.count;
  expect(new Set(await Promise.all(Array.from({ length: 50 }, () => found())))).toEqual(new Set([pageId]));
  parts.clock.advance(1_999);
  await found();
  expect(reads.count - before).toBe(1);
});

test('a domain that is no longer verified is gone after two seconds', async () => {
  expect(await found()).toBe(pageId);
  await check('pending');
  parts.clock.advance(2_000);
  expect(await found()).toBeNull();
});

describe.each<['hold' | 'fail', string]>([
  ['hold', 'is held by another program'],
  ['fail', 'fails to read'],
])('while the database (%s) %s', (mode) => {
  test('a known domain is answered for an hour without the database, and then read again', async () => {
    expect(await found()).toBe(pageId);
    await check('pending');
    reads[mode]();
    for (let passed = 0; passed < HOUR_MS; passed += MINUTE_MS) {
      parts.clock.advance(MINUTE_MS);
      expect(await foundWithin(250)).toBe(pageId);
    }
    reads.release();
    await expect
      .poll(async () => {
        parts.clock.advance(2_000);
        return found();
      })
      .toBeNull();
  });

  test('a known domain is answered although strangers request many other hosts', async () => {
    expect(await found()).toBe(pageId);
    for (let n = 0; n < 1_100; n += 1) await found(`host-${n}.example.org`);
    reads[mode]();
    parts.clock.advance(2_000);
    expect(await foundWithin(250)).toBe(pageId);
  });

  test('a new host is answered with an error within three seconds', async () => {
    reads[mode]();
    await expect(foundWithin(3_000, 'another.example.org')).rejects.toThrow('database');
  });
});

test('a database that fails at once is not asked more often than every two seconds', async () => {
  await found();
  reads.fail();
  parts.clock.advance(2_000);
  const before = reads.count;
  for (let n = 0; n < 20; n += 1) expect(await found()).toBe(pageId);
  expect(reads.count - before).toBe(1);
});
