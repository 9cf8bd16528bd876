import type { ResourceKind } from '@svc/shared/resources/registry.ts';
import type { z } from 'zod';
import type { AttributesOf } from '../configuration/kinds/kinds.ts';
import type { Transaction } from '../store/store.ts';
import type { Token, TokenScope } from '../store/tokens.ts';
import type { ProblemCode } from './problem.ts';

/** Who may call: anybody, a token of that scope (each includes those before it), or the operator's token only. */
export type Access = 'public' | TokenScope | 'operator';

/** What a change calls in its transaction; `RequestAudit` is one. */
export interface ChangeAudit {
  /** @param madeId id of what a create made, of which the path does not tell */
  write(tx: Transaction, madeId?: number): Promise<void>;
}

/** A request after authentication and parsing; handlers know nothing of HTTP beyond this. */
export type ApiRequest<Q = unknown, B = unknown> = {
  /** Null on public endpoints. */
  readonly token: Token | null;
  /** Ids of the path by name: positive integers. */
  readonly ids: Readonly<Record<string, number>>;
  readonly query: Q;
  readonly body: B;
  header(name: string): string | undefined;
  /** The attributes of a declared resource in the body. @throws Problem with all that is wrong */
  attributes(kind: ResourceKind, body: unknown): Promise<AttributesOf<ResourceKind>>;
  /** Stands for the whole of a large body, of which `body` is an outline: its lists and mappings are empty. Else null. */
  readonly digest: string | null;
  /** Changes write their line of the audit trail with it, in their transaction. */
  readonly audit: ChangeAudit;
};

export type EndpointAnswer = {
  readonly status: number;
  /** Sent as JSON, a string as it is; absent: no body. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};

/** A schema in the OpenAPI document: a zod schema, or a declared resource (then by its definition). */
export type DocumentedSchema = z.ZodType | { readonly resource: ResourceKind | readonly ResourceKind[] };

export type AnswerHeader =
  | 'ETag'
  | 'Location'
  | 'Idempotency-Replayed'
  | 'Svc-Declared-As'
  | 'Svc-Declared-In';

export type Documented = {
  readonly description: string;
  /** Absent: no body, or one of {@link contentType}. */
  readonly schema?: DocumentedSchema;
  /** Of a body that is not JSON. */
  readonly contentType?: string;
  readonly headers?: readonly AnswerHeader[];
};

export type RequestHeader = 'If-Match' | 'If-None-Match' | 'Idempotency-Key';

/** One operation of the API: what routes it, what guards it, what documents it. */
export type Endpoint = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** `/v1/monitors/{id}`; every parameter is a positive integer. */
  readonly path: string;
  readonly access: Access;
  readonly tag: string;
  readonly summary: string;
  /** What callers must know beyond the summary. */
  readonly description?: string;
  /** Query parameters, given as text; unknown ones are refused. */
  readonly query?: z.ZodObject;
  /** Present: a JSON body is required. A zod schema validates it; resources are validated by the handler. */
  readonly body?: DocumentedSchema;
  /** By status. */
  readonly answers: Readonly<Record<number, Documented>>;
  /** What it may refuse beyond what follows from its access, path, headers and body, see `openapi-operation.ts`. */
  readonly problems?: readonly ProblemCode[];
  readonly headers?: readonly RequestHeader[];
  handle(request: ApiRequest<never, never>): Promise<EndpointAnswer> | EndpointAnswer;
};

/** Ties the handler's types to the schemas. */
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

/** The workspace whose objects a request sees. Endpoints that are not public always have a token. */
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
