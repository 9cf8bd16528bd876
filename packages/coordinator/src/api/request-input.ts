import { LIMITS } from '@svc/shared/limits.ts';
import { z } from 'zod';
import { defaultMessage } from './default-messages.ts';
import type { Endpoint } from './endpoint.ts';
import { invalid, Problem } from './problem.ts';

/**
 * Makes the function that parses the queries of an endpoint by its schema. The schema is made with the first query:
 * zod compiles one, which takes ten times as long as to parse with it, and few endpoints are ever called.
 *
 * @throws Problem (the function) naming every parameter that is unknown, given twice or not valid
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

/** Most members of a body: many more than any has, and few enough to report each of them. */
const MOST_MEMBERS = 100;

/** Path of a list with more entries than any list of such a body may have; null: there is none. */
function longListIn(value: unknown, path: readonly string[] = []): readonly string[] | null {
  if (typeof value !== 'object' || value === null) return null;
  if (Array.isArray(value) && value.length > LIMITS.noteTargets) return path;
  for (const [name, member] of Object.entries(value)) {
    const found = longListIn(member, [...path, name]);
    if (found !== null) return found;
  }
  return null;
}

/** The body without the members of the answer that it repeats and that nobody can write. */
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
 * Parses a body. Declared resources are parsed by their own definition, in the handler.
 *
 * @throws Problem naming every member that is not valid
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
