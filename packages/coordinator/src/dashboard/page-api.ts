import type { ApiCalls, ApiResponse, Caller } from '../api/in-process.ts';
import { Problem, type ProblemCode, type ProblemDocument } from '../api/problem.ts';
import type { PageApi } from './page.ts';

/** The API as one visitor may use it. @param signal aborted when the visitor is gone */
export function createPageApi(calls: ApiCalls, caller: Caller, signal: AbortSignal): PageApi {
  const call: PageApi['call'] = (method, path, body, headers = {}) =>
    calls.call(caller, { method, path, body, headers: sendable(headers), signal });
  return {
    call,
    async read<T>(path: string): Promise<T> {
      const answer = await call('GET', path);
      if (answer.status !== 200) throw problemOfAnswer(answer);
      return answer.body as T;
    },
  };
}

/** Values of fields that no header can carry become empty, which the API refuses with its own words. */
function sendable(headers: Readonly<Record<string, string>>): Record<string, string> {
  const values = Object.entries(headers).map(([name, value]): [string, string] => [
    name,
    /^[\x20-\x7e]*$/.test(value) ? value : '',
  ]);
  return Object.fromEntries(values);
}

function problemOfAnswer({ body }: ApiResponse): Problem {
  const { type, detail, errors } = body as ProblemDocument;
  return new Problem(type.slice(type.lastIndexOf(':') + 1) as ProblemCode, detail, { errors });
}
