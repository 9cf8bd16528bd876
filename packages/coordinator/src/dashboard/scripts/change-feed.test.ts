import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type ConfiguredStore,
  configuredStore,
  silentLog,
} from '../../../../../test/support/configured-store.ts';
import { appendAudit } from '../../store/access/audit.ts';
import { ChangeFeed } from './change-feed.ts';

let parts: ConfiguredStore;
let feed: ChangeFeed;

beforeEach(async () => {
  parts = await configuredStore();
  feed = new ChangeFeed({ ...parts, log: silentLog });
});
afterEach(() => parts.dispose());

/** Makes a change that the feed reports, by adding a line to the audit trail. */
const change = () =>
  parts.store.transaction((tx) =>
    appendAudit(tx, [
      {
        at: 0,
        workspaceId: 1,
        actor: 'settings',
        token: null,
        action: 'create',
        object: 'monitors/1',
        outcome: 'done',
        status: null,
        requestId: null,
        peer: null,
        detail: null,
      },
    ]),
  );

/** An open session. If `tokenId` is left out, the session has a token that no other session has. */
const open = (tokenId = nextToken++) => ({ tokenId, isOpen: () => true });
let nextToken = 1;

/** What the feed sends to keep a connection open. A database that is slow for 15 s of the clock lets it come first. */
const BREATH = ':\n\n';

/** Opens a stream, and collects its texts, without breaths. */
function listener(signal = new AbortController().signal, session = open()) {
  const stream = feed.openStream(session, signal);
  if (stream === null) throw new Error('nobody else may listen');
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  return {
    next: async () => {
      let text: string | undefined = BREATH;
      while (text === BREATH) text = (await reader.read()).value;
      return text ?? null;
    },
    cancel: () => reader.cancel(),
  };
}

/** Lets the feed read the database until this text arrives. */
async function looksUntil(arrived: Promise<string | null>): Promise<string | null> {
  let isThere = false;
  const text = arrived.finally(() => {
    isThere = true;
  });
  while (!isThere) {
    await change();
    parts.clock.advance(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return text;
}

test('every listener gets a change', async () => {
  const [one, other] = [listener(), listener()];
  expect(await one.next()).toBe('retry: 3000\n\n');
  expect(await other.next()).toBe('retry: 3000\n\n');
  expect(await looksUntil(one.next())).toMatch(/^event: change\ndata: 0-\d+\n\n$/);
  expect(await other.next()).toMatch(/^event: change\n/);
  feed.stop();
});

test('the database is not read without listeners', async () => {
  expect(parts.clock.pendingTimers).toBe(0);
  const leaving = new AbortController();
  const [one, other] = [listener(leaving.signal), listener()];
  await Promise.all([one.next(), other.next()]);
  expect(parts.clock.pendingTimers).toBeGreaterThan(0);
  leaving.abort();
  await other.cancel();
  expect(await one.next()).toBeNull();
  expect(parts.clock.pendingTimers).toBe(0);
});

test('a stream ends after ten minutes, so that its session is checked again', async () => {
  const one = listener();
  await one.next();
  parts.clock.advance(10 * 60_000);
  let text: string | null = '';
  while (text !== null) text = await one.next();
  expect(parts.clock.pendingTimers).toBe(0);
});

test('the stop of the service ends all streams, and their number is bounded', async () => {
  const streams = Array.from({ length: 500 }, () => listener());
  expect(feed.openStream(open(), new AbortController().signal)).toBeNull();
  feed.stop();
  for (const one of streams) {
    expect(await one.next()).toBe('retry: 3000\n\n');
    expect(await one.next()).toBeNull();
  }
});

test('the stream of a listener that does not read is closed', async () => {
  const slow = feed.openStream(open(), new AbortController().signal);
  for (let index = 0; index < 100; index += 1) parts.clock.advance(15_000);
  expect(parts.clock.pendingTimers).toBe(0);
  await slow?.cancel();
});

test('a stream ends with its session, and gets no later change', async () => {
  let isOpen = true;
  const one = listener(undefined, { tokenId: 1, isOpen: () => isOpen });
  const other = listener();
  await Promise.all([one.next(), other.next()]);
  isOpen = false;
  expect(await looksUntil(other.next())).toMatch(/^event: change\n/);
  expect(await one.next()).toBeNull();
  feed.stop();
});

test('a reader who leaves is forgotten, without an error', async () => {
  const stream = feed.openStream(open(), new AbortController().signal);
  await stream?.cancel();
  expect(parts.clock.pendingTimers).toBe(0);
});

test('one token cannot take the streams of the others', async () => {
  const leaving = new AbortController();
  for (let count = 0; count < 100; count += 1) listener(leaving.signal, open(0));
  expect(feed.openStream(open(0), new AbortController().signal)).toBeNull();
  expect(await listener().next()).toBe('retry: 3000\n\n');
  leaving.abort();
  expect(await listener(undefined, open(0)).next()).toBe('retry: 3000\n\n');
  feed.stop();
});
