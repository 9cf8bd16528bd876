import type { ApiCalls, ApiResponse, Caller } from '../api/in-process.ts';
import { Problem, type ProblemCode, type ProblemDocument } from '../api/problem.ts';
import type { PageApi } from './page.ts';

/** The API as one visitor may use it. */
export function createPageApi(calls: ApiCalls, caller: Caller): PageApi {
  const call: PageApi['call'] = (method, path, body, headers = {}) =>
    calls.call(caller, { method, path, body, headers });
  return {
    call,
    async read<T>(path: string): Promise<T> {
      const answer = await call('GET', path);
      if (answer.status !== 200) throw problemOfAnswer(answer);
      return answer.body as T;
    },
  };
}

function problemOfAnswer({ body }: ApiResponse): Problem {
  const { type, detail, errors } = body as ProblemDocument;
  return new Problem(type.slice(type.lastIndexOf(':') + 1) as ProblemCode, detail, { errors });
}
