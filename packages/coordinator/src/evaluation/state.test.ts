import fc from 'fast-check';
import { expect, test } from 'vitest';
import { newState, States } from './state.ts';

test('a state that is known takes over every member of the new one, and stays the same object', () => {
  const members = Object.keys(newState(1, 0)).filter((member) => member !== 'id');
  // Whatever the members are, so that a new one cannot be forgotten.
  const content = fc.tuple(...members.map((member) => fc.tuple(fc.constant(member), fc.anything())));
  fc.assert(
    fc.property(content, (entries) => {
      const states = new States();
      states.set(newState(1, 0));
      const standing = states.get(1);
      const next = { ...newState(1, 0), ...Object.fromEntries(entries) };
      states.set(next);
      expect(states.get(1)).toBe(standing);
      expect(Object.entries(standing ?? {})).toEqual(Object.entries(next));
    }),
  );
});
