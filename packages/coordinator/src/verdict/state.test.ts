import { REGIONS } from '@svc/shared/regions.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Drafts, newState, States } from './state.ts';
import type { Vote } from './status.ts';

test('a known state takes over every member of the new one, and stays the same object', () => {
  const members = Object.keys(newState(1, 0)).filter((member) => member !== 'id');
  // All members get any values, so that this test also covers members that are added later.
  const content = fc.tuple(...members.map((member) => fc.tuple(fc.constant(member), fc.anything())));
  fc.assert(
    fc.property(content, (entries) => {
      const states = new States();
      states.set(newState(1, 0));
      const standing = states.get(1);
      const next = { ...newState(1, 0), ...Object.fromEntries(entries), votes: [], open: [] };
      states.set(next);
      expect(states.get(1)).toBe(standing);
      expect(Object.entries(standing ?? {})).toEqual(Object.entries(next));
    }),
  );
});

const vote: fc.Arbitrary<Vote> = fc.record({
  region: fc.constantFrom(...REGIONS.slice(0, 4)),
  outcome: fc.constantFrom('passed', 'degraded', 'failed'),
  slot: fc.nat(),
  at: fc.nat(),
  endedAt: fc.nat(),
  failedSince: fc.option(fc.nat()),
  upSlot: fc.nat(),
  expiresAt: fc.double({ noNaN: true }),
  latency: fc.option(fc.double({ noNaN: true })),
  statusCode: fc.option(fc.nat()),
  errorMessage: fc.option(fc.string()),
});
const votes = fc.uniqueArray(vote, { selector: ({ region }) => region });

test('a state has the votes of the last one that was set, whatever it had before', () => {
  fc.assert(
    fc.property(fc.array(votes, { minLength: 1 }), (all) => {
      const states = new States();
      for (const each of all) {
        states.set({ ...newState(1, 0), votes: structuredClone(each) });
        expect(states.get(1)?.votes).toEqual(each);
      }
    }),
  );
});

test('a vote of the same region stays the same object, so that it is no garbage of the old generation', () => {
  const [cast] = fc.sample(vote, { numRuns: 1, seed: 1 }) as [Vote];
  const states = new States();
  states.set({ ...newState(1, 0), votes: [{ ...cast }] });
  const standing = states.get(1)?.votes[0];
  states.set({ ...newState(1, 0), votes: [{ ...cast, slot: cast.slot + 1 }] });
  expect(states.get(1)?.votes[0]).toBe(standing);
  expect(standing?.slot).toBe(cast.slot + 1);
});

test('a draft leaves the standing votes and slots alone until it is set', () => {
  const [cast] = fc.sample(vote, { numRuns: 1, seed: 1 }) as [Vote];
  const states = new States();
  states.set({ ...newState(1, 0), votes: [{ ...cast }] });
  const open = { slot: 1, given: 0, answered: 0, isGivenKnown: true, deadline: 1, reports: [] };
  const draft = new Drafts(states).openDraft(1, 0);
  draft.votes = [{ ...cast, slot: cast.slot + 1 }];
  draft.open.push(open);
  expect(states.get(1)).toMatchObject({ votes: [cast], open: [] });
  states.set(draft);
  expect(states.get(1)).toMatchObject({ votes: [{ slot: cast.slot + 1 }], open: [open] });
  states.set({ ...draft, open: [] });
  new Drafts(states).openDraft(1, 0).open.push(open);
  expect(states.get(1)?.open).toEqual([]);
});

test('new states without slots, intervals and links share their empty lists', () => {
  const states = new States();
  for (const id of [1, 2]) states.set({ ...newState(id, 0), open: [], intervals: [], links: [] });
  const [one, other] = [states.get(1), states.get(2)];
  expect(one?.open).toBe(other?.open);
  expect(one?.intervals).toBe(other?.intervals);
  expect(one?.links).toBe(other?.links);
});
