import { Problem, type ProblemCode, type ProblemDocument } from '../../api/problem.ts';
import type { PageApi } from '../page.ts';

/** An object of the API with the headers of its answer: its version, and the file that declares it. */
export type Whole = { readonly headers: Headers; readonly body: Readonly<Record<string, unknown>> };

/** @throws Problem that the API answered */
export async function readWhole(api: PageApi, path: string): Promise<Whole> {
  const { status, headers, body } = await api.call('GET', path);
  if (status !== 200) throw problemOfAnswer(body as ProblemDocument);
  return { headers, body: body as Whole['body'] };
}

/** The problem that the API answered, for the page of an error. */
export function problemOfAnswer({ type, detail, errors }: ProblemDocument): Problem {
  return new Problem(type.slice(type.lastIndexOf(':') + 1) as ProblemCode, detail, { errors });
}
