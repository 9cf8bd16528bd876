import { expect, test } from 'vitest';
import { a, DnsTestServer } from '../../../../test/support/dns-server.ts';
import { fairly, type Resolve, silentNames } from './names.ts';

const ADDRESS = [{ address: '192.0.2.1', family: 4 }];

/**
 * A resolver for tests. Lookups of names that begin with `dead` fail, the oldest first, when `failOldest` is
 * called. All other lookups succeed at once.
 */
function zones() {
  const asked: string[] = [];
  const waiting: (() => void)[] = [];
  const resolve: Resolve = (hostname) => {
    asked.push(hostname);
    if (!hostname.startsWith('dead')) return Promise.resolve(ADDRESS);
    return new Promise((_resolve, reject) => waiting.push(() => reject(new Error('EAI_AGAIN'))));
  };
  return { asked, resolve: fairly(resolve), failOldest: () => waiting.shift()?.(), waiting };
}

const DEAD = ['dead-1', 'dead-2', 'dead-3', 'dead-4', 'dead-5'];

test('names that failed before share two threads, and others never wait for them', async () => {
  const { asked, resolve, failOldest, waiting } = zones();
  const first = DEAD.map((name) => resolve(name).catch(() => 'failed'));
  for (const _ of DEAD) failOldest();
  await Promise.all(first);

  asked.length = 0;
  const second = DEAD.map((name) => resolve(name).catch(() => 'failed'));
  expect(await resolve('alive')).toBe(ADDRESS);
  expect(asked).toEqual(['dead-1', 'dead-2', 'alive']);
  for (let failed = 0; failed < DEAD.length; failed += 1) {
    expect(waiting.length).toBeLessThanOrEqual(2);
    failOldest();
    await new Promise((resume) => setImmediate(resume));
  }
  expect(await Promise.all(second)).toEqual(DEAD.map(() => 'failed'));
  expect(asked).toEqual(['dead-1', 'dead-2', 'alive', 'dead-3', 'dead-4', 'dead-5']);
});

test('names whose servers are silent leave threads for others from their first query on', async () => {
  const dns = await DnsTestServer.start(({ name, type }) => {
    if (name.startsWith('dead')) return null;
    return type === 'A' && name.startsWith('alive') ? { records: [a(name, '192.0.2.1')] } : { rcode: 3 };
  });
  const isSilent = silentNames([`127.0.0.1:${dns.port}`]);
  const asked: string[] = [];
  const ends: (() => void)[] = [];
  const resolve = fairly(
    (hostname) => {
      asked.push(hostname);
      if (!hostname.startsWith('dead')) return Promise.resolve(ADDRESS);
      return new Promise((_resolve, reject) => ends.push(() => reject(new Error('EAI_AGAIN'))));
    },
    undefined,
    isSilent,
  );
  const dead = Array.from({ length: 50 }, (_, index) =>
    resolve(`dead-${index}.example`).catch(() => 'failed'),
  );
  expect(await resolve('alive.example')).toBe(ADDRESS);
  expect(await resolve('only-in-the-hosts-file.example')).toBe(ADDRESS);
  await expect.poll(() => asked.length).toBe(4);
  expect(await resolve('alive-too.example')).toBe(ADDRESS);
  expect(asked.filter((name) => name.startsWith('dead'))).toHaveLength(2);
  for (let failed = 0; failed < 50; failed += 1) {
    await expect.poll(() => ends.length).toBeGreaterThan(0);
    ends.shift()?.();
  }
  expect(await Promise.all(dead)).toEqual(Array(50).fill('failed'));
  await dns.close();
});

test('a name that answers again is no longer suspect', async () => {
  let isDead = true;
  const asked: string[] = [];
  const resolve = fairly(async (hostname) => {
    asked.push(hostname);
    if (isDead) throw new Error('EAI_AGAIN');
    return ADDRESS;
  });
  const names = ['a', 'b', 'c'];
  await Promise.allSettled(names.map(resolve));
  isDead = false;
  await Promise.all(names.map(resolve));
  asked.length = 0;
  const running = names.map(resolve);
  expect(asked).toEqual(names);
  await Promise.all(running);
});

test('the number of lookups at once is limited', async () => {
  const { asked, resolve: _any, failOldest, waiting } = zones();
  const resolve = fairly(
    (hostname) => {
      asked.push(hostname);
      return new Promise((_resolve, reject) => waiting.push(() => reject(new Error('EAI_AGAIN'))));
    },
    { atOnce: 2, ofSuspects: 1 },
  );
  const first = ['a', 'b', 'c'].map((name) => resolve(name).catch(() => 'failed'));
  await new Promise((resume) => setImmediate(resume));
  expect(asked).toEqual(['a', 'b']);
  for (let failed = 0; failed < 3; failed += 1) {
    failOldest();
    await new Promise((resume) => setImmediate(resume));
  }
  expect(await Promise.all(first)).toEqual(['failed', 'failed', 'failed']);
  asked.length = 0;
  const second = ['a', 'b', 'new'].map((name) => resolve(name).catch(() => 'failed'));
  await new Promise((resume) => setImmediate(resume));
  expect(asked).toEqual(['a', 'new']);
  while (waiting.length > 0) {
    failOldest();
    await new Promise((resume) => setImmediate(resume));
  }
  await Promise.all(second);
});
