import type { ResourceKind } from '@svc/shared/resources/registry.ts';
import type { z } from 'zod';
import type { Token, TokenScope } from '../store/access/tokens.ts';
import type { Transaction } from '../store/store.ts';
import type { ResourceView } from './answers.ts';
import type { ProblemCode } from './problem.ts';

/**
 * Who may call an endpoint: anybody, a token of this scope
 * or a larger one, or only the token of the operator.
 */
export type Access = 'public' | TokenScope | 'operator';

/** The audit line that a change writes in its transaction. `RequestAudit` implements this. */
export interface ChangeAudit {
  /**
   * Writes the line.
   *
   * @param madeId id of the created object, which the path does not contain
   */
  writeLine(tx: Transaction, madeId?: number): Promise<void>;
}

/**
 * A request after authentication and parsing. It contains all that a handler learns about the HTTP request.
 */
export type ApiRequest<Q = unknown, B = unknown> = {
  /** The token of the request; null on public endpoints. */
  readonly token: Token | null;
  /** The ids in the path by their names. They are positive integers. */
  readonly ids: Readonly<Record<string, number>>;
  readonly query: Q;
  readonly body: B;
  header(name: string): string | undefined;
  /** Writes the audit line of a change. The handler calls `writeLine` in the transaction of the change. */
  readonly audit: ChangeAudit;
  /** Aborted when the caller is gone, so that work only for this caller can end. */
  readonly signal: AbortSignal;
};

export type EndpointAnswer<A = unknown> = {
  readonly status: number;
  /** The body. A string is sent unchanged, any other value as JSON. Absent: the answer has no body. */
  readonly body?: A;
  readonly headers?: Readonly<Record<string, string>>;
};

/**
 * A schema in the OpenAPI document: a zod schema, the schema of a declared resource (`resource`: its
 * possible kinds), or the schema of a page of declared resources (`resources`: their possible kinds).
 */
export type DocumentedSchema =
  | z.ZodType
  | { readonly resource: ResourceKind | readonly ResourceKind[] }
  | { readonly resources: readonly ResourceKind[] };

export type AnswerHeader =
  | 'ETag'
  | 'Location'
  | 'Idempotency-Replayed'
  | 'Svc-Declared-As'
  | 'Svc-Declared-In';

export type Documented = {
  readonly description: string;
  /**
   * Schema of a JSON body. Absent: the answer has no body,
   * or a body that is not JSON (see {@link contentType}).
   */
  readonly schema?: DocumentedSchema;
  /** Media type of a body that is not JSON. */
  readonly contentType?: string;
  readonly headers?: readonly AnswerHeader[];
};

export type RequestHeader = 'If-Match' | 'If-None-Match' | 'Idempotency-Key';

/**
 * One operation of the API: its route, its access rules
 * and its documentation. {@link serve} adds the handler.
 */
export type Endpoint<T extends EndpointTypes = EndpointTypes> = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path like `/v1/monitors/{id}`. Every parameter is a positive integer. */
  readonly path: string;
  readonly access: Access;
  readonly tag: string;
  readonly summary: string;
  /** Text that tells callers more than the summary does. */
  readonly description?: string;
  /** Schema of the query parameters, which arrive as text. Unknown parameters are refused. */
  readonly query?: z.ZodObject;
  /**
   * Schema of the JSON body. If `body` is present, requests must have a body. A zod schema
   * validates the body before the handler runs. The handler itself validates a declared resource.
   */
  readonly body?: DocumentedSchema;
  /**
   * Schema of an answer. A request may send the answer's members
   * back: members that only the answer has are ignored in the body.
   */
  readonly repeats?: z.ZodObject;
  /** Successful answers by HTTP status. */
  readonly answers: Readonly<Record<number, Documented>>;
  /**
   * Problems that the endpoint may report in addition to those that
   * follow from its access, path, headers and body (see `openapi.ts`).
   */
  readonly problems?: readonly ProblemCode[];
  readonly headers?: readonly RequestHeader[];
  /** Tells the compiler the types of the schemas. The member never has a value. */
  readonly types?: T;
};

/** The types that the path and the schemas of an endpoint determine. */
export type EndpointTypes = {
  /** Names of the ids in the path. `filters`: names of the query parameters. */
  readonly ids: string;
  readonly filters: string;
  /** The parsed query and the parsed body that the handler gets. */
  readonly query: unknown;
  readonly body: unknown;
  /** The body of a successful answer. */
  readonly answer: unknown;
};

type IdsIn<P extends string> = P extends `${string}{${infer Name}}${infer Rest}` ? Name | IdsIn<Rest> : never;

/** The type of the body that a handler gets. A declared resource in a body is not parsed yet. */
type BodyIn<B extends DocumentedSchema> = [B] extends [never]
  ? undefined
  : B extends z.ZodType
    ? z.infer<B>
    : unknown;

type AnswerIn<D> = D extends { readonly schema: infer S }
  ? ViewOf<S>
  : D extends { readonly contentType: string }
    ? string
    : null;

/** The type of a schema in an answer. */
type ViewOf<S> = S extends z.ZodType
  ? z.infer<S>
  : S extends { readonly resource: infer K }
    ? ResourceView<KindIn<K>>
    : S extends { readonly resources: infer K }
      ? {
          readonly data: readonly ResourceView<KindIn<K>>[];
          readonly total: number;
          readonly limit: number;
          readonly offset: number;
        }
      : unknown;

type KindIn<K> = Extract<K extends readonly unknown[] ? K[number] : K, ResourceKind>;

/** An endpoint whose types follow from its path and schemas. */
type EndpointOf<
  P extends string,
  Q extends z.ZodObject,
  B extends DocumentedSchema,
  A extends Endpoint['answers'],
> = Endpoint<{
  ids: IdsIn<P>;
  filters: Extract<keyof Q['shape'], string>;
  query: z.infer<Q>;
  body: BodyIn<B>;
  answer: { [S in keyof A]: AnswerIn<A[S]> }[keyof A];
}>;

/** The query schema of an endpoint that takes no query parameters. */
export type NoQuery = z.ZodObject<Record<never, never>>;

/** Defines an endpoint. The compiler derives its types from the path and the schemas. */
export function endpoint<
  const P extends string,
  Q extends z.ZodObject = NoQuery,
  B extends DocumentedSchema = never,
  const A extends Endpoint['answers'] = Endpoint['answers'],
>(
  definition: Omit<Endpoint, 'path' | 'query' | 'body' | 'answers' | 'types'> & {
    readonly path: P;
    readonly query?: Q;
    readonly body?: B;
    readonly answers: A;
  },
): EndpointOf<P, Q, B, A> {
  return definition;
}

/** An endpoint whose successful answers have this body. Its path and query may be any. */
export type EndpointAnswering<A> = Endpoint<Omit<EndpointTypes, 'answer'> & { readonly answer: A }>;

/** The ids and query parameters of a call to an endpoint. A query parameter that is null is left out. */
export type ParametersOf<T extends EndpointTypes> = string extends T['ids']
  ? Readonly<Record<string, Parameter>>
  : { readonly [N in T['ids']]: string | number } & { readonly [N in T['filters']]?: Parameter };

type Parameter = string | number | null | undefined;

/** The body of a successful answer of an endpoint. */
export type AnswerOf<E extends Endpoint> = E extends Endpoint<infer T> ? T['answer'] : never;

/** A request to an endpoint. */
export type RequestOf<E extends Endpoint> =
  E extends Endpoint<infer T> ? ApiRequest<T['query'], T['body']> : never;

/**
 * Answers the requests to an endpoint. The compiler checks that
 * the bodies of the answers match the schemas of the endpoint.
 */
type Handler<T extends EndpointTypes> = (
  request: ApiRequest<T['query'], T['body']>,
) => Promise<EndpointAnswer<T['answer']>> | EndpointAnswer<T['answer']>;

/** An endpoint with its handler. */
export type ServedEndpoint = Endpoint & {
  handle(request: ApiRequest<never, never>): Promise<EndpointAnswer> | EndpointAnswer;
};

export function serve<T extends EndpointTypes>(defined: Endpoint<T>, handle: Handler<T>): ServedEndpoint {
  return { ...defined, handle };
}

/**
 * Returns the workspace whose objects a request may see.
 *
 * @throws TypeError when the request has no token, which is possible only on a public endpoint
 */
export function workspaceOf(request: Pick<ApiRequest, 'token'>): number {
  if (request.token === null) throw new TypeError('a public endpoint has no workspace');
  return request.token.workspaceId;
}

export function idOf(request: Pick<ApiRequest, 'ids'>, name = 'id'): number {
  const id = request.ids[name];
  if (id === undefined) throw new TypeError(`the path has no {${name}}`);
  return id;
}

export const ok = <A>(body: A, headers: Readonly<Record<string, string>> = {}): EndpointAnswer<A> => ({
  status: 200,
  body,
  headers,
});

export const NO_CONTENT: EndpointAnswer<never> = { status: 204 };
