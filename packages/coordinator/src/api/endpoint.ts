import type { ResourceKind } from '@svc/shared/resources/registry.ts';
import type { z } from 'zod';
import type { Transaction } from '../store/store.ts';
import type { Token, TokenScope } from '../store/tokens.ts';
import type { ProblemCode } from './problem.ts';

/**
 * Who may call: anybody, a token of the scope (each scope includes those before it), or only the operator's
 * token.
 */
export type Access = 'public' | TokenScope | 'operator';

/** The audit line that a change writes in its transaction. `RequestAudit` implements this. */
export interface ChangeAudit {
  /** @param madeId id of the created object, which the path does not contain */
  write(tx: Transaction, madeId?: number): Promise<void>;
}

/** A request after authentication and parsing. Handlers know nothing else about HTTP. */
export type ApiRequest<Q = unknown, B = unknown> = {
  /** The token; null on public endpoints. */
  readonly token: Token | null;
  /** Ids of the path by name: positive integers. */
  readonly ids: Readonly<Record<string, number>>;
  readonly query: Q;
  readonly body: B;
  header(name: string): string | undefined;
  /** Changes write their line of the audit trail with it, in their transaction. */
  readonly audit: ChangeAudit;
  /** Aborted when the caller is gone, for work that is done for nobody else. */
  readonly signal: AbortSignal;
};

export type EndpointAnswer = {
  readonly status: number;
  /** Sent as JSON; a string is sent as it is. Absent: no body. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};

/** A schema in the OpenAPI document: a zod schema, or declared resources by their definitions. */
export type DocumentedSchema = z.ZodType | { readonly resource: ResourceKind | readonly ResourceKind[] };

export type AnswerHeader =
  | 'ETag'
  | 'Location'
  | 'Idempotency-Replayed'
  | 'Svc-Declared-As'
  | 'Svc-Declared-In';

export type Documented = {
  readonly description: string;
  /** Absent: there is no body, or one of {@link contentType}. */
  readonly schema?: DocumentedSchema;
  /** Media type of a body that is not JSON. */
  readonly contentType?: string;
  readonly headers?: readonly AnswerHeader[];
};

export type RequestHeader = 'If-Match' | 'If-None-Match' | 'Idempotency-Key';

/** One operation of the API, with its route, its access rules and its documentation. */
export type Endpoint = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path like `/v1/monitors/{id}`. Every parameter is a positive integer. */
  readonly path: string;
  readonly access: Access;
  readonly tag: string;
  readonly summary: string;
  /** Facts that callers must know in addition to the summary. */
  readonly description?: string;
  /** Query parameters, given as text. Unknown ones are refused. */
  readonly query?: z.ZodObject;
  /** Present: a JSON body is required. A zod schema validates it; the handler validates resources. */
  readonly body?: DocumentedSchema;
  /** The answer whose members the body may repeat: those that the body does not have are ignored. */
  readonly repeats?: z.ZodObject;
  /** Answers by status. */
  readonly answers: Readonly<Record<number, Documented>>;
  /**
   * Problems that it may report beyond those that follow from its access, path, headers and body, see
   * `openapi-operation.ts`.
   */
  readonly problems?: readonly ProblemCode[];
  readonly headers?: readonly RequestHeader[];
  handle(request: ApiRequest<never, never>): Promise<EndpointAnswer> | EndpointAnswer;
};

/** Defines an endpoint whose handler has the types of the schemas. */
export function endpoint<Q extends z.ZodObject = z.ZodObject, B extends DocumentedSchema = z.ZodUnknown>(
  definition: Omit<Endpoint, 'query' | 'body' | 'handle'> & {
    query?: Q;
    body?: B;
    handle(
      request: ApiRequest<z.infer<Q>, B extends z.ZodType ? z.infer<B> : unknown>,
    ): Promise<EndpointAnswer> | EndpointAnswer;
  },
): Endpoint {
  return definition;
}

/** The workspace whose objects a request may see. Endpoints that are not public always have a token. */
export function workspaceOf(request: Pick<ApiRequest, 'token'>): number {
  if (request.token === null) throw new TypeError('a public endpoint has no workspace');
  return request.token.workspaceId;
}

export function idOf(request: Pick<ApiRequest, 'ids'>, name = 'id'): number {
  const id = request.ids[name];
  if (id === undefined) throw new TypeError(`the path has no {${name}}`);
  return id;
}

export const ok = (body: unknown, headers: Readonly<Record<string, string>> = {}): EndpointAnswer => ({
  status: 200,
  body,
  headers,
});

export const NO_CONTENT: EndpointAnswer = { status: 204 };
