/**
 * IPv4 and IPv6 fail independently. The watch runs with real `References`, and each test
 * sets the families that answer.
 */
import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import { FakeClock, settle } from '../../../../test/support/fake-clock.ts';
import { httpCheck, outcomeOf } from '../../../../test/support/scripted-probe.ts';
import {
  BOTH_FAMILIES,
  type Families,
  type Family,
  familiesOf,
  NO_FAMILY,
  ONLY_IPV4,
  ONLY_IPV6,
} from './families.ts';
import { type Reference, References } from './references.ts';
import { NetworkWatch } from './watch.ts';

const log = pino({ level: 'silent' });

let running: References | undefined;

afterEach(async () => {
  await running?.stop();
});

/**
 * The references of one machine: a gateway of IPv4 (`four`), a gateway of IPv6 (`six`), and a reference
 * whose family is unknown (`either`).
 */
async function bench(present: readonly ('four' | 'six' | 'either')[]) {
  const clock = new FakeClock();
  const answers = { four: true, six: true, either: true };
  const family = { four: 4, six: 6, either: null } as const;
  const list = present.map(
    (name): Reference => ({
      name,
      askReference: async (_, heard) => {
        if (answers[name]) heard(family[name]);
      },
    }),
  );
  const references = new References({ list: () => list, clock, log });
  running = references;
  references.start();
  await settle();
  clock.advance(250);
  const watch = new NetworkWatch({ references, clock });
  /** Why an attempt over these families, which fails now, says nothing about its target; null: it does. */
  const fails = async (host: string, families: Families, begunAt?: number) => {
    const found = outcomeOf('failed', { notConnected: true, addresses: families.map(addressBy) });
    const asked = watch.seen(httpCheck(`http://${host}/`), found, begunAt ?? clock.monotonic());
    await clock.advanceSettling(250);
    return await asked;
  };
  const passes = (host: string, families: Families): void => {
    void watch.seen(
      httpCheck(`http://${host}/`),
      outcomeOf('passed', { addresses: families.map(addressBy) }),
      clock.monotonic(),
    );
  };
  return { clock, answers, references, watch, fails, passes };
}

const host = (number: number): string => `h${number}.test`;
const addressBy = (family: Family) => ({ address: family === 4 ? '192.0.2.1' : '2001:db8::1', family });

test('the families of addresses', () => {
  expect(familiesOf([])).toEqual(NO_FAMILY);
  expect(familiesOf([{ family: 4 }, { family: 4 }])).toEqual(ONLY_IPV4);
  expect(familiesOf([{ family: 6 }])).toEqual(ONLY_IPV6);
  expect(familiesOf([{ family: 6 }, { family: 4 }])).toEqual(BOTH_FAMILIES);
});

test.each([
  ['IPv6', 'six', ONLY_IPV6, ONLY_IPV4],
  ['IPv4', 'four', ONLY_IPV4, ONLY_IPV6],
] as const)(
  'while %s alone is gone, failures of targets with only this family are not verdicts, and others are',
  async (_, name, gone, other) => {
    const { answers, fails, passes, watch, clock } = await bench(['four', 'six']);
    answers[name] = false;
    for (let period = 0; period < 3; period += 1) {
      // Hosts that answer over the other family say nothing about this family.
      for (let number = 0; number < 20; number += 1) passes(host(number), other);
      expect(await fails('only.test', gone)).toBe('network-down');
      expect(await fails('down.test', other)).toBeNull();
      expect(await fails('with-both.test', BOTH_FAMILIES)).toBeNull();
      expect(watch.isDown).toBe(true);
      await clock.advanceSettling(30_000);
    }
    answers[name] = true;
    await clock.advanceSettling(1_250);
    expect(await fails('only.test', gone)).toBeNull();
    passes('only.test', gone);
    expect(watch.isDown).toBe(false);
  },
);

test('while both are gone, no failure is a verdict', async () => {
  const { answers, fails } = await bench(['four', 'six']);
  answers.four = false;
  answers.six = false;
  for (const families of [ONLY_IPV4, ONLY_IPV6, BOTH_FAMILIES, NO_FAMILY]) {
    expect(await fails('any.test', families)).toBe('network-down');
  }
});

test.each([
  ['IPv6', ['four'], ONLY_IPV6],
  ['IPv4', ['six'], ONLY_IPV4],
] as const)(
  'on a machine without a reference by %s, the other references stand for that family',
  async (_, present, families) => {
    const { answers, fails } = await bench(present);
    expect(await fails('only.test', families)).toBeNull();
    answers[present[0]] = false;
    expect(await fails('only.test', families)).toBe('network-down');
  },
);

test('a reference of unknown family does not speak for a family that has references of its own', async () => {
  const { answers, fails } = await bench(['four', 'either']);
  answers.four = false;
  expect(await fails('a.test', ONLY_IPV4)).toBe('network-down');
  expect(await fails('b.test', ONLY_IPV6)).toBeNull();
  expect(await fails('unresolved.test', NO_FAMILY)).toBeNull();
});

test('wrong references of one family are forgotten, and references of the other family are not', async () => {
  const { answers, fails, passes, clock } = await bench(['four', 'six']);
  answers.six = false;
  expect(await fails('only.test', ONLY_IPV6)).toBe('network-down');
  await clock.advanceSettling(1_000);
  for (let number = 0; number < 9; number += 1) passes(host(number), ONLY_IPV6);
  await clock.advanceSettling(29_000);
  expect(await fails('only.test', ONLY_IPV6)).toBeNull();
  // IPv4 is judged as before, although IPv6 is gone.
  answers.four = false;
  expect(await fails('other.test', ONLY_IPV4)).toBe('network-down');
});

test('an attempt that began before its family was back says nothing', async () => {
  const { answers, references, fails, clock } = await bench(['four', 'six']);
  answers.six = false;
  await references.askReferences(ONLY_IPV6);
  const begunInVain = clock.monotonic();
  await clock.advanceSettling(2_000);
  answers.six = true;
  await clock.advanceSettling(2_000);
  expect(await fails('a.test', ONLY_IPV6, begunInVain)).toBe('network-down');
  expect(await fails('b.test', ONLY_IPV4, begunInVain)).toBeNull();
});

test('a family that is gone for an hour is asked at the long interval', async () => {
  let asked = 0;
  const clock = new FakeClock();
  const answers = { 4: true, 6: true };
  const list = ([4, 6] as const).map(
    (family): Reference => ({
      name: String(family),
      askReference: async (_, heard) => {
        asked += 1;
        if (answers[family]) heard(family);
      },
    }),
  );
  const references = new References({ list: () => list, clock, log });
  running = references;
  references.start();
  await settle();
  answers[6] = false;
  await clock.advanceSettling(3_700_000);
  asked = 0;
  await clock.advanceSettling(60_000);
  expect(asked).toBeLessThanOrEqual(2 * 2);
  expect(references.goneSince(ONLY_IPV6)).not.toBeNull();
  expect(references.goneSince(ONLY_IPV4)).toBeNull();
});
