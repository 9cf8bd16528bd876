import { LIMITS } from '../limits.ts';
import type { HttpCheck, NumberComparator, StringComparator } from '../messages/check.ts';
import { compareNumber, compareText } from './compare.ts';
import { quote, quotePair } from './quotes.ts';

export type ResponseAssertions = Pick<
  HttpCheck,
  'status_code_assertions' | 'header_assertions' | 'body_assertions'
>;

export type ObservedResponse = {
  statusCode: number;
  /**
   * Values by header name in lower case. The values of a header that came several times are joined by `, `.
   * An absent header is judged as the empty text.
   */
  headers: ReadonlyMap<string, string>;
  /** The decoded body, at most its first 2 MiB; read only when there are body assertions. */
  body: string;
};

/**
 * Judges a response: all assertions must hold. Without a status-code assertion the status must be 200–299.
 *
 * @returns the message about the first assertion that fails, in the order status, headers, body
 *   (`expected …, saw …`, at most 500 characters); undefined when all assertions hold
 */
export function evaluateResponse(
  assertions: ResponseAssertions,
  response: ObservedResponse,
): string | undefined {
  return (
    failedStatus(assertions.status_code_assertions, response.statusCode) ??
    failedHeader(assertions.header_assertions, response.headers) ??
    failedBody(assertions.body_assertions, response.body)
  );
}

/**
 * An assertion in words, and its failure in words, such as `expected …, saw …`; null: the assertion holds.
 */
export type JudgedAssertion = { readonly assertion: string; readonly failure: string | null };

/**
 * Gives the verdict on every assertion, for people who try a check. The order is the same
 * as in {@link evaluateResponse}.
 */
export function judgeResponse(assertions: ResponseAssertions, response: ObservedResponse): JudgedAssertion[] {
  const { status_code_assertions: codes, header_assertions: headers, body_assertions: bodies } = assertions;
  const { statusCode, body } = response;
  const ofCode = (list: typeof codes, assertion: string): JudgedAssertion => ({
    assertion,
    failure: failedStatus(list, statusCode) ?? null,
  });
  return [
    ...(codes.length === 0 ? [ofCode([], 'a status code from 200 to 299')] : []),
    ...codes.map((each) => ofCode([each], `a status code ${NUMBER_WORDS[each.comparator]} ${each.target}`)),
    ...headers.map((each) => ({
      assertion: `${headerNamed(each.key)} ${expectation(each)}`,
      failure: failedHeader([each], response.headers) ?? null,
    })),
    ...bodies.map((each) => ({
      assertion: `the body ${expectation(each)}`,
      failure: failedBody([each], body) ?? null,
    })),
  ];
}

function failedStatus(
  assertions: ResponseAssertions['status_code_assertions'],
  seen: number,
): string | undefined {
  if (assertions.length === 0) {
    return seen >= 200 && seen <= 299 ? undefined : `expected a status code from 200 to 299, saw ${seen}`;
  }
  for (const { comparator, target } of assertions) {
    if (!compareNumber(seen, comparator, target)) {
      return `expected a status code ${NUMBER_WORDS[comparator]} ${target}, saw ${seen}`;
    }
  }
  return undefined;
}

function failedHeader(
  assertions: ResponseAssertions['header_assertions'],
  headers: ReadonlyMap<string, string>,
): string | undefined {
  for (const { key, comparator, target } of assertions) {
    const seen = headers.get(key.toLowerCase());
    if (compareText(seen ?? '', comparator, target)) continue;
    return failure(headerNamed(key), { comparator, target }, seen ?? '', seen === undefined);
  }
  return undefined;
}

function failedBody(assertions: ResponseAssertions['body_assertions'], body: string): string | undefined {
  for (const { comparator, target } of assertions) {
    if (!compareText(body, comparator, target))
      return failure('the body', { comparator, target }, body, false);
  }
  return undefined;
}

const NUMBER_WORDS = {
  eq: 'equal to',
  neq: 'other than',
  gt: 'greater than',
  gte: 'of at least',
  lt: 'less than',
  lte: 'of at most',
} as const satisfies Record<NumberComparator, string>;

/** The words for each comparator. Those for `empty` and `not_empty` are written without the target. */
const TEXT_WORDS = {
  contains: 'to contain',
  not_contains: 'not to contain',
  eq: 'to equal',
  neq: 'to differ from',
  empty: 'to be empty',
  not_empty: 'not to be empty',
  gt: 'to be greater than',
  gte: 'to be at least',
  lt: 'to be less than',
  lte: 'to be at most',
} as const satisfies Record<StringComparator, string>;

type TextAssertion = { readonly comparator: StringComparator; readonly target: string };

function headerNamed(key: string): string {
  return `header ${printable(clip(key, 100))}`;
}

/** The expectation in words: `to contain "ok"`. */
function expectation({ comparator, target }: TextAssertion, quoted = quote(target)): string {
  const needsTarget = comparator !== 'empty' && comparator !== 'not_empty';
  return needsTarget ? `${TEXT_WORDS[comparator]} ${quoted}` : TEXT_WORDS[comparator];
}

function failure(subject: string, assertion: TextAssertion, seen: string, isAbsent: boolean): string {
  const quotes = quotePair(assertion.comparator, assertion.target, seen);
  const found = isAbsent ? 'nothing: it is absent' : `${quotes.seen}${quotes.place}`;
  return clip(
    `expected ${subject} ${expectation(assertion, quotes.target)}, saw ${found}`,
    LIMITS.errorMessage,
  );
}

/** Replaces control characters and lone surrogates, because messages end up in mails and terminals. */
function printable(text: string): string {
  return text.toWellFormed().replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ');
}

function clip(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1).toWellFormed()}…` : text;
}
