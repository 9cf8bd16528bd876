import { LIMITS } from '@svc/shared/limits.ts';
import { z } from 'zod';
import type { Endpoint } from './endpoint.ts';
import { invalid, Problem } from './problem.ts';

/**
 * Makes the function that parses the queries of an endpoint by its schema.
 * The schema is compiled at the first query and not earlier: compiling
 * takes ten times as long as parsing, and few endpoints are ever called.
 *
 * The function throws a Problem that names every parameter that is unknown, given twice or not valid.
 */
export function queryParser(
  endpoint: Endpoint,
): (parameters: Iterable<readonly [string, string]>) => unknown {
  let schema: z.ZodObject | undefined;
  return (parameters) => {
    schema ??= z.strictObject(endpoint.query?.shape ?? {});
    return parsedQuery(schema, parameters);
  };
}

function parsedQuery(schema: z.ZodObject, parameters: Iterable<readonly [string, string]>): unknown {
  const given = new Map<string, string>();
  const errors: { pointer: string; parameter: string; message: string }[] = [];
  for (const [parameter, value] of parameters) {
    if (given.has(parameter)) errors.push({ pointer: '', parameter, message: 'is given twice' });
    given.set(parameter, value);
  }
  const parsed = schema.safeParse(Object.fromEntries(given), { error: defaultMessage });
  for (const issue of parsed.error?.issues ?? []) {
    const names = issue.code === 'unrecognized_keys' ? issue.keys : [String(issue.path[0] ?? '')];
    errors.push(...names.map((parameter) => ({ pointer: '', parameter, message: issue.message })));
  }
  if (errors.length > 0) throw new Problem('malformed-request', 'the query is not valid', { errors });
  return parsed.data;
}

/**
 * Maximum number of members of a body. No valid body has nearly as many members. The
 * bound also limits the size of the answer, which reports each member that is not valid.
 */
const MOST_MEMBERS = 100;

/**
 * Finds a list that is longer than any list in a body may be. Returns its path; null: there is no such list.
 */
function longListIn(value: unknown, path: readonly string[] = []): readonly string[] | null {
  if (typeof value !== 'object' || value === null) return null;
  if (Array.isArray(value) && value.length > LIMITS.noteTargets) return path;
  for (const [name, member] of Object.entries(value)) {
    const found = longListIn(member, [...path, name]);
    if (found !== null) return found;
  }
  return null;
}

/** Removes from the body the members that only the answer has, because they cannot be written. */
function withoutRepeated({ body: schema, repeats }: Endpoint, body: unknown): unknown {
  if (repeats === undefined || !(schema instanceof z.ZodObject)) return body;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  return Object.fromEntries(
    Object.entries(body).filter(
      ([name]) => Object.hasOwn(schema.shape, name) || !Object.hasOwn(repeats.shape, name),
    ),
  );
}

/**
 * Parses a body. The body of a declared resource is returned
 * unparsed: the handler parses it by the definition of the resource.
 *
 * @throws Problem `invalid` that names every member that is not valid
 */
export function parseBody(endpoint: Endpoint, body: unknown): unknown {
  if (typeof body === 'object' && body !== null && Object.keys(body).length > MOST_MEMBERS) {
    throw invalid([{ path: [], message: `has more than ${MOST_MEMBERS} members` }]);
  }
  const schema = endpoint.body;
  if (schema === undefined || !('safeParse' in schema)) return body;
  const long = longListIn(body);
  if (long !== null) throw invalid([{ path: long, message: `has more than ${LIMITS.noteTargets} entries` }]);
  const parsed = schema.safeParse(withoutRepeated(endpoint, body), { error: defaultMessage });
  if (parsed.success) return parsed.data;
  throw invalid(
    parsed.error.issues.flatMap(({ code, path, message, ...issue }) =>
      code === 'unrecognized_keys' && 'keys' in issue && Array.isArray(issue.keys)
        ? issue.keys.map((key: string) => ({ path: [...path, key], message: 'is unknown' }))
        : [{ path, message }],
    ),
  );
}

/**
 * Reads the JSON body of a request, at most {@link LIMITS.apiBodyBytes}. The body is parsed
 * on the thread that schedules checks, which takes some milliseconds for the largest body.
 *
 * @throws Problem `too-large`, `unsupported-media-type`, `malformed-request`
 */
export async function readBody(request: Request): Promise<unknown> {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (Number(request.headers.get('content-length') ?? 0) > LIMITS.apiBodyBytes) throw tooLarge();
  if (type !== 'application/json' && !/^application\/[\w.-]+\+json$/.test(type)) {
    const sent = type === '' ? 'the request has no content-type' : 'the request has another content-type';
    throw new Problem('unsupported-media-type', `send the body as application/json; ${sent}`);
  }
  if (!['', 'identity'].includes(request.headers.get('content-encoding')?.trim().toLowerCase() ?? '')) {
    throw new Problem('unsupported-media-type', 'send the body without a content-encoding');
  }
  const bytes = request.headers.has('content-length') ? await readWhole(request) : await readParts(request);
  return parsedJson(bytes);
}

/**
 * Reads a body whose length is known and not too large. The function does not
 * read a stream, which would take more time than the rest of the request.
 */
async function readWhole(request: Request): Promise<ArrayBuffer> {
  try {
    return await request.arrayBuffer();
  } catch {
    throw brokenOff();
  }
}

/**
 * Reads a body without a `content-length`.
 *
 * @throws Problem `too-large` as soon as the body exceeds the bound
 */
async function readParts(request: Request): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of received(request)) {
    size += chunk.byteLength;
    if (size > LIMITS.apiBodyBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function* received({ body }: Request): AsyncGenerator<Uint8Array> {
  try {
    yield* body ?? [];
  } catch {
    throw brokenOff();
  }
}

/**
 * Returns the value of a JSON text in UTF-8.
 *
 * @throws Problem `malformed-request`. Its message contains no part of the text
 */
export function parsedJson(bytes: Uint8Array | ArrayBuffer): unknown {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw malformed('the body is not valid UTF-8');
  }
  if (text.trim() === '') throw malformed('the body is empty');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw malformed(`the body is not JSON${placeOf(error)}`);
  }
  if (isDeeperThan(MOST_LEVELS, value))
    throw malformed(`the body is nested more than ${MOST_LEVELS} levels deep`);
  return value;
}

/**
 * Maximum depth of a body, levels. No resource has more than
 * four levels. Thousands of levels would overflow the stack.
 */
const MOST_LEVELS = 32;

function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeperThan(levels - 1, member));
}

/**
 * Returns line and column of a syntax error as a text. V8's own message
 * also quotes the text around the error, which may be a secret.
 */
function placeOf(error: unknown): string {
  const place = error instanceof Error ? /\(line (\d+) column (\d+)\)/.exec(error.message) : null;
  return place === null ? '' : `: line ${place[1]}, column ${place[2]}`;
}

/** Makes the problem for a client that closed the connection too early. The cause is no error of svc. */
function brokenOff(): Problem {
  return malformed('the connection ended before the body was complete');
}

function tooLarge(): Problem {
  return new Problem('too-large', `the body may have at most ${LIMITS.apiBodyBytes} bytes`);
}

function malformed(detail: string): Problem {
  return new Problem('malformed-request', detail, { errors: [{ pointer: '', message: detail }] });
}

type Issue = z.core.$ZodRawIssue;

/** Messages about values of a wrong type, by the type that the schema expects. */
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

/** What a bound of a value counts, as a noun for messages, by the type of the value. */
const COUNTED: Readonly<Record<string, string>> = { string: 'characters', array: 'members', set: 'members' };

/**
 * Returns svc's own message about an error, in place of the library's
 * message. It is used if the schema has no message of its own.
 */
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
