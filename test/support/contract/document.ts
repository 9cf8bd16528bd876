import type { RunningApi } from '../api.ts';

export type Json = Readonly<Record<string, unknown>>;
export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
export type Parameter = {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly schema: Json;
};

/** One operation of the OpenAPI document, with the facts that tests need. */
export type Operation = {
  readonly id: string;
  readonly method: Method;
  /** Path like `/v1/monitors/{id}`. */
  readonly path: string;
  readonly isPublic: boolean;
  readonly parameters: readonly Parameter[];
  /** Schema of the JSON body; null: the operation takes no body. */
  readonly body: Json | null;
  /** Answers by status, with references resolved. */
  readonly answers: ReadonlyMap<number, DocumentedAnswer>;
};

export type DocumentedAnswer = {
  /** Media type of the body; null: the answer has no body. */
  readonly contentType: string | null;
  /** JSON pointer to the body's schema in the document. */
  readonly schema: string | null;
  /** Names of the headers that the answer may have, in lower case. */
  readonly headers: readonly string[];
};

export type Contract = { readonly document: Json; readonly operations: readonly Operation[] };

/** The document of a running API, as any client would get it. */
export async function readContract(api: Pick<RunningApi, 'url'>): Promise<Contract> {
  const answer = await fetch(`${api.url}/v1/openapi.json`);
  if (answer.status !== 200) throw new Error(`/v1/openapi.json answered ${answer.status}`);
  const document = (await answer.json()) as Json & { paths: Record<string, Record<Method, Json>> };
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    (Object.keys(methods) as Method[]).map((method) => operationOf(document, path, method)),
  );
  return { document, operations };
}

function operationOf(document: Json, path: string, method: Method): Operation {
  const place = ['paths', path, method];
  const { operationId, parameters, requestBody, responses, security } = at(document, place) as {
    operationId: string;
    parameters: readonly Parameter[];
    requestBody?: { content: { 'application/json': { schema: Json } } };
    responses: Json;
    security?: readonly unknown[];
  };
  return {
    id: operationId,
    method,
    path,
    isPublic: security?.length === 0,
    parameters,
    body: requestBody?.content['application/json'].schema ?? null,
    answers: new Map(
      Object.keys(responses).map((status) => [
        Number(status),
        documentedAnswer(document, [...place, 'responses', status]),
      ]),
    ),
  };
}

function documentedAnswer(document: Json, place: readonly string[]): DocumentedAnswer {
  const { $ref } = at(document, place) as { $ref?: string };
  const found = $ref === undefined ? place : stepsOf($ref);
  const { content = {}, headers = {} } = at(document, found) as { content?: Json; headers?: Json };
  const contentType = Object.keys(content)[0] ?? null;
  return {
    contentType,
    schema: contentType === null ? null : pointerOf([...found, 'content', contentType, 'schema']),
    headers: Object.keys(headers).map((name) => name.toLowerCase()),
  };
}

/** Returns the schema; if it is a reference, the schema to which it refers. */
export function resolved(document: Json, schema: Json): Json {
  return typeof schema.$ref === 'string' ? (at(document, stepsOf(schema.$ref)) as Json) : schema;
}

export function at(document: Json, steps: readonly string[]): unknown {
  return steps.reduce<unknown>((inner, step) => (inner as Json | undefined)?.[step], document);
}

/** The steps of a reference: a JSON pointer (RFC 6901) after `#/`. */
export function stepsOf(reference: string): string[] {
  return reference
    .slice(2)
    .split('/')
    .map((step) => decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~'));
}

function pointerOf(steps: readonly string[]): string {
  return steps
    .map((step) => `/${encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))}`)
    .join('');
}
