import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { pino } from 'pino';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { FakeClock, settle } from '../../../../test/support/fake-clock.ts';
import { type Family, NO_FAMILY } from './families.ts';
import { type Reference, References } from './references.ts';

const log = pino({ level: 'silent' });
const HOUR_MS = 3_600_000;

/** A reference that answers, refuses at once or stays silent, as the test sets it. */
class Scripted implements Reference {
  readonly name: string;
  does: 'answers' | 'fails' | 'nothing' = 'answers';
  asked = 0;
  readonly #family: Family | null;
  constructor(name: string, family: Family | null = 4) {
    this.name = name;
    this.#family = family;
  }
  async askReference(signal: AbortSignal, heard: (family: Family | null) => void): Promise<void> {
    this.asked += 1;
    if (this.does === 'answers') heard(this.#family);
    if (this.does === 'nothing') await new Promise((end) => signal.addEventListener('abort', end));
  }
}

let running: References | undefined;

afterEach(async () => {
  await running?.stop();
});

async function bench(names: readonly string[], does: Scripted['does'] = 'answers') {
  const clock = new FakeClock();
  const all = names.map((name) => new Scripted(name));
  for (const each of all) each.does = does;
  const listed = { now: all as readonly Reference[] | null };
  const list = (): readonly Reference[] => {
    if (listed.now === null) throw new Error('EMFILE');
    return listed.now;
  };
  const references = new References({ list, clock, log });
  running = references;
  references.start();
  await settle();
  clock.advance(250);
  return { clock, all, listed, references };
}

describe('what the references say', () => {
  test('one that answers is enough', async () => {
    const { references, all } = await bench(['gateway', 'resolver']);
    if (all[0]) all[0].does = 'fails';
    expect(await references.askReferences(NO_FAMILY)).toBe('answered');
    expect(references.goneSince(NO_FAMILY)).toBeNull();
  });

  test('they are gone when none that answered before answers in time', async () => {
    const { references, all, clock } = await bench(['gateway', 'resolver']);
    for (const each of all) each.does = 'nothing';
    const answer = references.askReferences(NO_FAMILY);
    await clock.advanceSettling(1_999);
    expect(references.goneSince(NO_FAMILY)).toBeNull();
    await clock.advanceSettling(1);
    expect(await answer).toBe('gone');
    expect(references.goneSince(NO_FAMILY)).toBe(clock.monotonic());
  });

  test('nothing, when none has ever answered', async () => {
    const { references } = await bench([]);
    expect(references.areKnown).toBe(false);
    expect(await references.askReferences(NO_FAMILY)).toBe('none');
  });

  test('nothing, when the last answer is already an hour old', async () => {
    const { references, all, clock } = await bench(['gateway']);
    // The process stood still in the meantime, so no reference was asked.
    clock.stall(HOUR_MS);
    for (const each of all) each.does = 'fails';
    expect(references.areKnown).toBe(false);
    expect(await references.askReferences(NO_FAMILY)).toBe('none');
    expect(references.goneSince(NO_FAMILY)).toBeNull();
  });

  test('they stay gone until one is back, however many hours that takes', async () => {
    const { references, all, clock } = await bench(['gateway']);
    for (const each of all) each.does = 'fails';
    expect(await references.askReferences(NO_FAMILY)).toBe('gone');
    const goneSince = references.goneSince(NO_FAMILY);
    await clock.advanceSettling(2 * HOUR_MS);
    expect(references.areKnown).toBe(true);
    expect(references.goneSince(NO_FAMILY)).toBe(goneSince);
    for (const each of all) each.does = 'answers';
    await clock.advanceSettling(1_250);
    expect(references.goneSince(NO_FAMILY)).toBeNull();
  });

  test('nothing, once they were wrong, until one answers again', async () => {
    const { references, all, clock } = await bench(['gateway']);
    for (const each of all) each.does = 'fails';
    await references.askReferences(NO_FAMILY);
    references.forgetAnswers(NO_FAMILY);
    expect(references.areKnown).toBe(false);
    for (const each of all) each.does = 'answers';
    await clock.advanceSettling(60_000);
    expect(references.areKnown).toBe(true);
  });
});

test('an answer that lies in the socket when the time is over counts: the agent was late, not the reference', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const asked = Promise.withResolvers<void>();
  const askReference = (signal: AbortSignal, heard: (family: Family) => void): Promise<void> =>
    new Promise((settled) => {
      const socket = connect({ host: '127.0.0.1', port, autoSelectFamily: false });
      const end = (): void => {
        socket.destroy();
        settled();
      };
      socket.once('connect', () => {
        heard(4);
        end();
      });
      signal.addEventListener('abort', end);
      asked.resolve();
    });
  const { references, listed, clock } = await bench(['gateway']);
  await references.askReferences(NO_FAMILY);
  clock.advance(250);
  listed.now = [{ name: 'gateway', askReference }];
  const answer = references.askReferences(NO_FAMILY);
  await asked.promise;
  clock.advance(10_000);
  expect(await answer).toBe('answered');
  server.close();
});

test('a reference that is listed shortly after the start is known within seconds, not after the first minute', async () => {
  const { references, listed, clock } = await bench([]);
  expect(references.areKnown).toBe(false);
  // In the meantime, the addresses of the NATS server are resolved.
  listed.now = [new Scripted('nats')];
  await clock.advanceSettling(2_000);
  expect(references.areKnown).toBe(true);
});

test('a reference that never answers is asked every second for ten seconds, then once a minute', async () => {
  const { all, clock } = await bench(['filtered'], 'fails');
  await clock.advanceSettling(59_000);
  expect(all[0]?.asked).toBeLessThanOrEqual(11);
  const before = all[0]?.asked ?? 0;
  await clock.advanceSettling(600_000);
  expect(all[0]?.asked).toBe(before + 10);
});

test('a reference whose route is gone is no longer listed, and still counts', async () => {
  const { references, all, listed } = await bench(['gateway']);
  listed.now = [];
  for (const each of all) each.does = 'fails';
  expect(await references.askReferences(NO_FAMILY)).toBe('gone');
});

test('failures that come together share a round, and rounds keep their distance', async () => {
  const { references, all, clock } = await bench(['gateway']);
  const before = all[0]?.asked ?? 0;
  await Promise.all([references.askReferences(NO_FAMILY), references.askReferences(NO_FAMILY)]);
  expect(all[0]?.asked).toBe(before + 1);
  const later = Array.from({ length: 100 }, () => references.askReferences(NO_FAMILY));
  await settle();
  expect(all[0]?.asked).toBe(before + 1);
  await clock.advanceSettling(250);
  await Promise.all(later);
  expect(all[0]?.asked).toBe(before + 2);
});

test('while they are gone they are asked every second, so that their return is seen', async () => {
  const { references, all, clock } = await bench(['gateway']);
  for (const each of all) each.does = 'fails';
  await references.askReferences(NO_FAMILY);
  await clock.advanceSettling(5_000);
  expect(references.goneSince(NO_FAMILY)).not.toBeNull();
  expect(references.backAt(NO_FAMILY)).toBe(Number.NEGATIVE_INFINITY);
  for (const each of all) each.does = 'answers';
  await clock.advanceSettling(1_300);
  expect(references.goneSince(NO_FAMILY)).toBeNull();
  expect(references.backAt(NO_FAMILY)).toBeGreaterThan(clock.monotonic() - 1_300);
});

test('rounds leave nothing behind, however many there are', async () => {
  const { references, clock } = await bench(['gateway']);
  await references.askReferences(NO_FAMILY);
  const added = vi.spyOn(AbortSignal.prototype, 'addEventListener');
  for (let round = 0; round < 20; round += 1) {
    const answer = references.askReferences(NO_FAMILY);
    await clock.advanceSettling(250);
    await answer;
  }
  expect(added.mock.calls.length).toBeLessThan(5);
  added.mockRestore();
});

test('after the stop, a question is answered by "none"', async () => {
  const { references } = await bench(['gateway']);
  await references.askReferences(NO_FAMILY);
  await references.stop();
  expect(await references.askReferences(NO_FAMILY)).toBe('none');
});

test('the known references are asked when no list can be made, as without free descriptors', async () => {
  const { references, all, listed, clock } = await bench(['gateway']);
  listed.now = null;
  expect(await references.askReferences(NO_FAMILY)).toBe('answered');
  for (const each of all) each.does = 'fails';
  const answer = references.askReferences(NO_FAMILY);
  await clock.advanceSettling(250);
  expect(await answer).toBe('gone');
});
