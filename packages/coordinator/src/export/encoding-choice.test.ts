import { describe, expect, test } from 'vitest';
import { EncodingChoice } from './encoding-choice.ts';

/** A choice that has agreed on protobuf, and whose next collection is the trial. */
function agreed(): EncodingChoice {
  const choice = new EncodingChoice('json', true);
  choice.begin();
  choice.taken('json', true);
  choice.answered(true);
  return choice;
}

describe('nobody is asked', () => {
  test.each([
    ['json', false],
    ['protobuf', false],
    ['protobuf', true],
  ] as const)('where %s comes first, open: %j', (first, isOpen) => {
    const choice = new EncodingChoice(first, isOpen);
    choice.begin();
    expect(choice.taken(first, true)).toBe(false);
    expect(choice.current).toBe(first);
  });

  test('before points were taken without a complaint, and while the question is open', () => {
    const choice = new EncodingChoice('json', true);
    choice.begin();
    expect(choice.taken('json', false)).toBe(false);
    expect(choice.taken('json', true)).toBe(true);
    expect(choice.taken('json', true)).toBe(false);
  });
});

test('what is collected is in one encoding to its end', () => {
  const choice = agreed();
  expect(choice.current).toBe('json');
  choice.begin();
  expect(choice.current).toBe('protobuf');
});

test('collections after the trial are in JSON until it is taken', () => {
  const choice = agreed();
  choice.begin();
  choice.begin();
  expect(choice.current).toBe('json');
  choice.taken('json', true);
  expect(choice.isTrial('protobuf')).toBe(true);
  choice.taken('protobuf', true);
  expect(choice.current).toBe('json');
  choice.begin();
  expect(choice.current).toBe('protobuf');
});

test('a trial that is refused after another collection has begun leaves that as it is', () => {
  const choice = agreed();
  choice.begin();
  choice.begin();
  choice.refused('protobuf');
  expect(choice.current).toBe('json');
  choice.begin();
  expect([choice.current, choice.taken('json', true)]).toEqual(['json', false]);
});

test('an endpoint that refuses JSON while it is asked gets protobuf, whatever it answers', () => {
  const choice = new EncodingChoice('json', true);
  choice.begin();
  choice.taken('json', true);
  choice.refused('json');
  choice.answered(false);
  choice.begin();
  expect(choice.current).toBe('protobuf');
});
