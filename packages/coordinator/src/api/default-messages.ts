import type { z } from 'zod';

type Issue = z.core.$ZodRawIssue;

/** What a value must be, by the types that schemas expect. */
const TYPES: Readonly<Record<string, string>> = {
  string: 'must be a string',
  number: 'must be a number',
  int: 'must be a whole number',
  boolean: 'must be true or false',
  array: 'must be a list',
  object: 'must be an object',
  record: 'must be an object',
  null: 'must be null',
};

/** What is counted, by the origin of a bound. */
const COUNTED: Readonly<Record<string, string>> = { string: 'characters', array: 'members', set: 'members' };

/** The message of an error whose schema has none, in our words instead of the library's. */
export function defaultMessage(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required';
      return TYPES[issue.expected] ?? 'is not valid';
    case 'too_big':
      return atMost(issue.origin, issue.maximum);
    case 'too_small':
      return atLeast(issue.origin, issue.minimum);
    case 'not_multiple_of':
      return issue.divisor === 1 ? 'must be a whole number' : `must be a multiple of ${issue.divisor}`;
    case 'invalid_format':
      return issue.format === 'datetime'
        ? 'must be an instant as in 2027-01-01T00:00:00Z'
        : 'has the wrong form';
    case 'invalid_value':
      return issue.values.length === 1
        ? `must be ${issue.values.map(String).join('')}`
        : `must be one of ${issue.values.map(String).join(', ')}`;
    case 'unrecognized_keys':
      return 'is unknown';
    default:
      return 'is not valid';
  }
}

function atMost(origin: string, most: number | bigint): string {
  const counted = COUNTED[origin];
  return counted === undefined ? `must be at most ${most}` : `may have at most ${most} ${counted}`;
}

function atLeast(origin: string, least: number | bigint): string {
  const counted = COUNTED[origin];
  return counted === undefined ? `must be at least ${least}` : `must have at least ${least} ${counted}`;
}
