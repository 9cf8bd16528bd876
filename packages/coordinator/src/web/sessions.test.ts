import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ConfiguredStore, configuredStore } from '../../../../test/support/configured-store.ts';
import { OneTimeLinks } from './one-time-links.ts';
import { Sessions } from './sessions.ts';

const HOUR = 3_600_000;
let parts: ConfiguredStore;
let sessions: Sessions;
let links: OneTimeLinks;

beforeEach(async () => {
  parts = await configuredStore();
  sessions = new Sessions(parts);
  links = new OneTimeLinks(parts);
});
afterEach(() => parts.dispose());

const opened = (subject: `page:${number}` = 'page:1', lifeMs = HOUR) =>
  sessions.createSession({ subject, credential: 'v1', lifeMs });

const rows = () => parts.store.read.selectFrom('sessions').selectAll().execute();

test('a session is found by its secret until it expires', async () => {
  const { secret } = await opened();
  expect(await sessions.findSession(secret)).toMatchObject({ subject: 'page:1', credential: 'v1' });
  parts.clock.advance(HOUR);
  expect(await sessions.findSession(secret)).toBeNull();
});

test('the database does not have the secret', async () => {
  const { secret } = await opened();
  const [row] = await rows();
  expect(secret).toMatch(/^[\w-]{43}$/);
  expect(JSON.stringify(row)).not.toContain(secret);
});

test('only a well-formed secret is looked up', async () => {
  await opened();
  for (const text of ['', 'x', "' OR 1=1 --", 'x'.repeat(10_000)])
    expect(await sessions.findSession(text)).toBeNull();
});

test('ends one session, or all of a subject', async () => {
  const [first, second, other] = [await opened(), await opened(), await opened('page:2')];
  await sessions.endSession(first.secret);
  expect(await sessions.findSession(first.secret)).toBeNull();
  expect(await sessions.findSession(second.secret)).not.toBeNull();
  await sessions.endSessionsOf('page:1');
  expect(await sessions.findSession(second.secret)).toBeNull();
  expect(await sessions.findSession(other.secret)).not.toBeNull();
});

test('a new session removes those that have expired', async () => {
  await opened('page:1', HOUR);
  parts.clock.advance(2 * HOUR);
  await opened('page:2');
  expect((await rows()).map(({ subject }) => subject)).toEqual(['page:2']);
});

test('a link works once', async () => {
  const secret = await links.createLink('login:1', { lifeMs: HOUR, detail: 'x' });
  const taken = await Promise.all([links.useLink(secret), links.useLink(secret)]);
  expect(taken.filter((one) => one !== null)).toEqual([
    expect.objectContaining({ purpose: 'login:1', detail: 'x' }),
  ]);
  expect(await links.useLink('unknown')).toBeNull();
});

test('a link expires, and the next one removes it', async () => {
  const secret = await links.createLink('login:1', { lifeMs: HOUR });
  parts.clock.advance(HOUR);
  expect(await links.useLink(secret)).toBeNull();
  const old = await links.createLink('login:1', { lifeMs: HOUR });
  parts.clock.advance(2 * HOUR);
  await links.createLink('login:2', { lifeMs: HOUR });
  expect(await links.useLink(old)).toBeNull();
  expect(await parts.store.read.selectFrom('one_time_links').select('purpose').execute()).toEqual([
    { purpose: 'login:2' },
  ]);
});
