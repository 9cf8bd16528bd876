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
  return { asked, resolve: fairly(resolve, null), failOldest: () => waiting.shift()?.(), waiting };
}

const DEAD = ['dead-1', 'dead-2', 'dead-3', 'dead-4', 'dead-5'];

test('names that failed before are looked up one at a time, and other names do not wait for them', async () => {
  const { asked, resolve, failOldest, waiting } = zones();
  const first = DEAD.map((name) => resolve(name).catch(() => 'failed'));
  for (const _ of DEAD) failOldest();
  await Promise.all(first);

  asked.length = 0;
  const second = DEAD.map((name) => resolve(name).catch(() => 'failed'));
  expect(await resolve('alive')).toBe(ADDRESS);
  expect(asked).toEqual(['dead-1', 'alive']);
  for (let failed = 0; failed < DEAD.length; failed += 1) {
    expect(waiting.length).toBeLessThanOrEqual(1);
    failOldest();
    await new Promise((resume) => setImmediate(resume));
  }
  expect(await Promise.all(second)).toEqual(DEAD.map(() => 'failed'));
  expect(asked).toEqual(['dead-1', 'alive', 'dead-2', 'dead-3', 'dead-4', 'dead-5']);
});

test('names whose servers are silent leave threads for others from their first query on', async () => {
  const dns = await DnsTestServer.start(({ name, type }) => {
    if (name.startsWith('dead')) return null;
    return type === 'A' && name.startsWith('alive') ? { records: [a(name, '192.0.2.1')] } : { rcode: 3 };
  });
  const isSilent = silentNames([`127.0.0.1:${dns.port}`]);
  const asked: string[] = [];
  const ends: (() => void)[] = [];
  const resolve = fairly((hostname) => {
    asked.push(hostname);
    if (!hostname.startsWith('dead')) return Promise.resolve(ADDRESS);
    return new Promise((_resolve, reject) => ends.push(() => reject(new Error('EAI_AGAIN'))));
  }, isSilent);
  const dead = Array.from({ length: 50 }, (_, index) =>
    resolve(`dead-${index}.example`).catch(() => 'failed'),
  );
  expect(await resolve('alive.example')).toBe(ADDRESS);
  expect(await resolve('only-in-the-hosts-file.example')).toBe(ADDRESS);
  await expect.poll(() => asked.length).toBe(3);
  expect(await resolve('alive-too.example')).toBe(ADDRESS);
  expect(asked.filter((name) => name.startsWith('dead'))).toHaveLength(1);
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
  }, null);
  const names = ['a', 'b', 'c'];
  await Promise.allSettled(names.map(resolve));
  isDead = false;
  await Promise.all(names.map(resolve));
  asked.length = 0;
  const running = names.map(resolve);
  expect(asked).toEqual(names);
  await Promise.all(running);
});

test('a name has one query at a time', async () => {
  let queries = 0;
  const resolve = fairly(async () => {
    queries += 1;
    return ADDRESS;
  }, null);
  await Promise.all([resolve('one.example'), resolve('one.example'), resolve('one.example')]);
  expect(queries).toBe(1);
  await resolve('one.example');
  expect(queries).toBe(2);
});
