import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyText } from '../../../../test/support/any-text.ts';
import { NUMBER_COMPARATORS, STRING_COMPARATORS, type StringComparator } from '../messages/check.ts';
import { compareCodePoints, compareNumber, compareText, decimalNumber } from './compare.ts';
import { evaluateResponse, type ResponseAssertions } from './evaluate.ts';

const NONE: ResponseAssertions = { status_code_assertions: [], header_assertions: [], body_assertions: [] };
const RESPONSE = { statusCode: 200, headers: new Map([['x-version', '1.10, 2']]), body: 'status: ok' };

describe('comparing texts', () => {
  test.each<[seen: string, comparator: StringComparator, target: string, holds: boolean]>([
    ['abc', 'contains', 'b', true],
    ['abc', 'contains', 'B', false],
    ['abc', 'contains', '', true],
    ['abc', 'not_contains', 'b', false],
    ['', 'not_contains', 'b', true],
    ['abc', 'eq', 'abc', true],
    ['abc', 'eq', 'abc ', false],
    ['1.0', 'eq', '1', false],
    ['abc', 'neq', 'abd', true],
    ['', 'neq', 'abd', true],
    ['', 'empty', 'ignored', true],
    [' ', 'empty', '', false],
    ['', 'not_empty', '', false],
    ['a', 'not_empty', 'ignored', true],
    ['9', 'lt', '10', true],
    ['9a', 'lt', '10a', false],
    ['9', 'lt', '10a', false],
    ['-1', 'lt', '1', true],
    ['1e3', 'gt', '999', true],
    ['42\n', 'gt', '5', true],
    ['1.50', 'gte', '1.5', true],
    ['1.50', 'lte', '1.5', true],
    ['.5', 'gt', '0.4', true],
    ['0x10', 'gt', '9', false],
    ['Infinity', 'gt', '9', true],
    ['1e999', 'gt', '9', false],
    ['', 'lt', '0', true],
    ['b', 'gt', 'a', true],
    ['a', 'gte', 'a', true],
    ['ab', 'gt', 'a', true],
    ['\u{1F600}', 'gt', '\uFFFD', true],
  ])('%j %s %j: %s', (seen, comparator, target, holds) => {
    expect(compareText(seen, comparator, target)).toBe(holds);
  });

  const text = fc.oneof(anyText(), fc.double().map(String), fc.integer().map(String));

  test('every comparator is the opposite of its counterpart', () => {
    const opposites = [
      ['eq', 'neq'],
      ['contains', 'not_contains'],
      ['empty', 'not_empty'],
      ['gt', 'lte'],
      ['lt', 'gte'],
    ] as const;
    fc.assert(
      fc.property(text, text, (a, b) => {
        for (const [one, other] of opposites) expect(compareText(a, one, b)).toBe(!compareText(a, other, b));
      }),
    );
  });

  test('numbers compare as numbers', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer(), (a, b) => {
        expect(compareText(String(a), 'gt', String(b))).toBe(a > b);
        expect(compareText(String(a), 'lte', String(b))).toBe(a <= b);
      }),
    );
  });

  test('texts order as their code points do', () => {
    const point = anyText({ maxLength: 5 });
    fc.assert(
      fc.property(point, point, (a, b) => {
        const [left, right] = [Buffer.from(a), Buffer.from(b)];
        // UTF-8 keeps the order of code points.
        expect(Math.sign(compareCodePoints(a, b))).toBe(Buffer.compare(left, right));
      }),
    );
  });

  test('a long body of digits is no number and costs no time', () => {
    expect(decimalNumber('1'.repeat(2 * 1_024 * 1_024))).toBeUndefined();
    expect(decimalNumber(`${'1'.repeat(2 * 1_024 * 1_024)}x`)).toBeUndefined();
  });
});

test('numbers compare by every comparator', () => {
  const holding = (seen: number, target: number) =>
    NUMBER_COMPARATORS.filter((comparator) => compareNumber(seen, comparator, target));
  expect(holding(200, 200)).toEqual(['eq', 'gte', 'lte']);
  expect(holding(200, 201)).toEqual(['neq', 'lt', 'lte']);
  expect(holding(201, 200)).toEqual(['neq', 'gt', 'gte']);
});

describe('judging a response', () => {
  test.each([
    [199, false],
    [200, true],
    [299, true],
    [300, false],
    [404, false],
  ])('without status assertions %i passes: %s', (statusCode, passes) => {
    const message = evaluateResponse(NONE, { ...RESPONSE, statusCode });
    expect(message).toBe(passes ? undefined : `expected a status code from 200 to 299, saw ${statusCode}`);
  });

  test('with status assertions all must hold, and no other status is required', () => {
    const assertions = {
      ...NONE,
      status_code_assertions: [
        { target: 400, comparator: 'gte' as const },
        { target: 404, comparator: 'neq' as const },
      ],
    };
    expect(evaluateResponse(assertions, { ...RESPONSE, statusCode: 500 })).toBeUndefined();
    expect(evaluateResponse(assertions, { ...RESPONSE, statusCode: 404 })).toBe(
      'expected a status code other than 404, saw 404',
    );
    expect(evaluateResponse(assertions, RESPONSE)).toBe('expected a status code of at least 400, saw 200');
  });

  test.each([
    ['X-VERSION', 'eq', '1.10, 2', undefined],
    ['x-version', 'eq', '2', 'expected header x-version to equal "2", saw "1.10, 2"'],
    ['x-absent', 'empty', '', undefined],
    ['x-absent', 'neq', 'a', undefined],
    ['x-absent', 'not_contains', 'a', undefined],
    ['x-absent', 'eq', 'a', 'expected header x-absent to equal "a", saw nothing: it is absent'],
    ['x-absent', 'not_empty', '', 'expected header x-absent not to be empty, saw nothing: it is absent'],
    ['x-version', 'empty', '', 'expected header x-version to be empty, saw "1.10, 2"'],
  ] as const)('header %s %s %j', (key, comparator, target, expected) => {
    const assertions = { ...NONE, header_assertions: [{ key, comparator, target }] };
    expect(evaluateResponse(assertions, RESPONSE)).toBe(expected);
  });

  test('the body, quoted on one line', () => {
    const assertions = { ...NONE, body_assertions: [{ comparator: 'contains' as const, target: 'up' }] };
    const body = `down\r\n\u001b[31m${'x'.repeat(1_000)}`;
    const message = evaluateResponse(assertions, { ...RESPONSE, body });
    expect(message).toMatch(
      /^expected the body to contain "up", saw "down\\r\\n\\u001b\[31mx+…" \(1011 characters\)$/,
    );
  });

  test('a message is well-formed, on one line and at most 500 characters, whatever it is about', () => {
    const long = anyText({ maxLength: 2_000 });
    fc.assert(
      fc.property(
        long,
        long,
        long,
        fc.constantFrom(...STRING_COMPARATORS),
        (key, target, seen, comparator) => {
          const assertions = {
            ...NONE,
            header_assertions: [{ key, comparator, target }],
            body_assertions: [{ comparator, target }],
          };
          const headers = new Map([[key.toLowerCase(), seen]]);
          const message = evaluateResponse(assertions, { statusCode: 200, headers, body: seen });
          expect(message === undefined).toBe(compareText(seen, comparator, target));
          if (message === undefined) return;
          expect(message.length).toBeLessThanOrEqual(500);
          expect(message.isWellFormed()).toBe(true);
          expect(message).not.toMatch(/[\r\n]/);
        },
      ),
    );
  });
});
