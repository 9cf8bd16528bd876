import type { Clock } from '@svc/shared/clock.ts';
import type { z } from 'zod';
import type { SecretsShown } from '../declaration/stored.ts';
import { forgetRequests, keepRequest, keptRequest } from '../store/access/idempotency-keys.ts';
import { scopeIncludes } from '../store/access/tokens.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import type { Transaction } from '../store/store.ts';
import type { ApiParts } from './api-parts.ts';
import {
  type ApiRequest,
  type DocumentedSchema,
  type Endpoint,
  type EndpointAnswer,
  type EndpointTypes,
  endpoint,
  idOf,
  NO_CONTENT,
  type NoQuery,
  ok,
  type RequestOf,
  type ServedEndpoint,
  serve,
  workspaceOf,
} from './endpoint.ts';
import { entityTag, expectedVersions } from './entity-tag.ts';
import { Problem } from './problem.ts';

/*
 * The table of the objects of the API: declared resources, incidents, their updates, and
 * maintenance windows. An entry has two halves. `defineObjects` takes its texts and
 * schemas, which the OpenAPI document and callers use. `serveObjects` takes the functions
 * that read and write objects of one kind. All entries have the same five endpoints:
 *
 *     GET    /v1/things       list:    200, a page of the list
 *     POST   /v1/things       create:  201, the object and its path; once for each Idempotency-Key
 *     GET    /v1/things/{id}  read:    200, the object with its ETag
 *     PUT    /v1/things/{id}  replace: 200, as `read`; 412 if `If-Match` names other versions only
 *     DELETE /v1/things/{id}  remove:  204; 412 as `replace`, if the entry takes `If-Match` here
 *
 * A change and its line in the audit trail are written in one transaction.
 */

/** The texts that an entry must give for an endpoint. */
type Texts = Pick<Endpoint, 'description' | 'problems'> & { readonly summary: string };

type Definition<
  P extends string,
  V extends DocumentedSchema,
  L extends z.ZodObject,
  S extends DocumentedSchema,
  N extends DocumentedSchema,
  R extends DocumentedSchema,
  D extends z.ZodObject,
> = {
  /** Path of the list. The path of a member is this path and `/{id}`. */
  readonly path: P;
  readonly tag: string;
  /** Noun for an object in messages: `maintenance window`. */
  readonly noun: string;
  /** Schema of an object in answers. */
  readonly schema: V;
  /** Schema of an answer that a request may send back, see `Endpoint.repeats`. */
  readonly repeats?: z.ZodObject;
  /** The verb in texts about a creation. The default is `created`. */
  readonly verb?: 'published';
  readonly list: Texts & { readonly query: L; readonly answer: string; readonly schema: S };
  readonly create: Texts & { readonly body: N };
  /** @property answer description of the answer: `The window.` */
  readonly read: Texts & {
    readonly answer: string;
    readonly headers?: readonly ('Svc-Declared-As' | 'Svc-Declared-In')[];
  };
  readonly replace: Texts & { readonly answer: string; readonly body: R };
  readonly remove: Texts & { readonly headers?: readonly ['If-Match']; readonly query?: D };
};

/** Defines the five endpoints of an entry, without handlers. */
export function defineObjects<
  const P extends string,
  V extends DocumentedSchema,
  L extends z.ZodObject,
  S extends DocumentedSchema,
  N extends DocumentedSchema,
  R extends DocumentedSchema,
  D extends z.ZodObject = NoQuery,
>(definition: Definition<P, V, L, S, N, R, D>) {
  const { path, tag, noun, schema, repeats, verb } = definition;
  const { list, create, read, replace, remove } = definition;
  const member = `${path}/{id}` as const;
  const done = verb === undefined ? 'Created' : 'Published';
  const repeating = repeats === undefined ? {} : { repeats };
  return {
    path,
    noun,
    verb: verb ?? 'created',
    list: endpoint({
      method: 'GET',
      path,
      access: 'read',
      tag,
      ...textsOf(list),
      query: list.query,
      answers: { 200: { description: list.answer, schema: list.schema } },
    }),
    create: endpoint({
      method: 'POST',
      path,
      access: 'write',
      tag,
      ...textsOf(create),
      body: create.body,
      ...repeating,
      headers: ['Idempotency-Key'],
      answers: {
        201: {
          description: `${done}, now or by an earlier request with the same Idempotency-Key.`,
          schema,
          headers: ['ETag', 'Location', 'Idempotency-Replayed'],
        },
      },
    }),
    read: endpoint({
      method: 'GET',
      path: member,
      access: 'read',
      tag,
      ...textsOf(read),
      headers: ['If-None-Match'],
      answers: { 200: { description: read.answer, schema, headers: ['ETag', ...(read.headers ?? [])] } },
    }),
    replace: endpoint({
      method: 'PUT',
      path: member,
      access: 'write',
      tag,
      ...textsOf(replace),
      body: replace.body,
      ...repeating,
      headers: ['If-Match'],
      answers: { 200: { description: replace.answer, schema, headers: ['ETag'] } },
    }),
    remove: endpoint({
      method: 'DELETE',
      path: member,
      access: 'write',
      tag,
      ...textsOf(remove),
      ...(remove.query === undefined ? {} : { query: remove.query }),
      ...(remove.headers === undefined ? {} : { headers: remove.headers }),
      answers: { 204: { description: 'Removed.' } },
    }),
  };
}

function textsOf({ summary, description, problems }: Texts): Texts {
  return {
    summary,
    ...(description === undefined ? {} : { description }),
    ...(problems === undefined ? {} : { problems }),
  };
}

/** The five endpoints of an entry, the path of its list, and its words for messages. */
type Objects = {
  readonly path: string;
  readonly noun: string;
  readonly verb: string;
} & { readonly [E in 'list' | 'create' | 'read' | 'replace' | 'remove']: Endpoint };

/** An object as an answer shows it. */
export type Member = {
  readonly view: object;
  readonly rowVersion: number;
  /** Headers in addition to the ETag. */
  readonly headers?: Readonly<Record<string, string>>;
};

export type ObjectRequest = Pick<ApiRequest, 'token' | 'ids'>;
type Awaitable<T> = T | Promise<T>;

/** Writes a change within a transaction. */
type Write<C> = (change: C) => Promise<void>;

/**
 * Runs changes of objects.
 *
 * @template C a change within its transaction
 */
export type Changes<C> = {
  /** Runs `work` in one transaction. */
  transaction<T>(workspaceId: number, work: (change: C) => Promise<T>): Promise<T>;
};

/**
 * Reads and writes the objects of an entry. Requests are parsed
 * before the transaction begins, so that the transaction is short.
 */
type Work<O extends Objects, C> = {
  /**
   * Finds an object; null: it does not exist.
   *
   * @throws Problem when the object's parent in the path (a status page, an incident) does not exist
   */
  findObject(request: ObjectRequest, id: number): Promise<Member | null>;
  /**
   * Returns the message about an object that does not exist. The default is like `there is no incident 12`.
   */
  missing?(request: ObjectRequest): string;
  /**
   * Lists objects.
   *
   * @returns the body of the answer
   */
  list(request: RequestOf<O['list']>): Awaitable<object>;
  /**
   * Parses a request that creates an object.
   *
   * @returns `keyed`: the content by which a repeated request with the same
   *   Idempotency-Key is recognized. `write`: creates the object and returns its id
   */
  create(
    request: RequestOf<O['create']>,
  ): Awaitable<{ readonly keyed: unknown; write(change: C): Promise<number> }>;
  replace(request: RequestOf<O['replace']>): Awaitable<Write<C>>;
  remove(request: RequestOf<O['remove']>): Awaitable<Write<C>>;
  /**
   * Further changes of one object. Each has its own endpoint,
   * whose answer is like the answer to a replacement.
   */
  readonly further?: readonly FurtherChange<C>[];
};

export type FurtherChange<C> = {
  readonly endpoint: Endpoint;
  plan(request: ApiRequest<never, never>): Awaitable<Write<C>>;
};

/** Makes an entry of {@link Work.further}: a change of one object with an endpoint of its own. */
export function furtherChange<T extends EndpointTypes, C>(
  defined: Endpoint<T>,
  plan: (request: ApiRequest<T['query'], T['body']>) => Awaitable<Write<C>>,
): FurtherChange<C> {
  return { endpoint: defined, plan };
}

type Parts = Pick<ApiParts, 'secrets' | 'clock'>;

/** Gives handlers to the endpoints of an entry. */
export function serveObjects<O extends Objects, C extends { readonly tx: Transaction }>(
  objects: O,
  changes: Changes<C>,
  work: Work<O, C>,
  parts: Parts,
): ServedEndpoint[] {
  const { path, noun, verb } = objects;
  const read = async (request: ObjectRequest) => {
    const member = await work.findObject(request, idOf(request));
    if (member !== null) return answerOf(member);
    throw new Problem('not-found', work.missing?.(request) ?? `there is no ${noun} ${idOf(request)}`);
  };
  return [
    serve(objects.list, async (request) => ok(await work.list(request as RequestOf<O['list']>))),
    serve(objects.create, async (request) => {
      const { keyed, write } = await work.create(request as RequestOf<O['create']>);
      const place = pathOf(path, request);
      const once = createsOnce(request, { path: place, body: keyed }, parts);
      const { id, isNew } = await changes.transaction(workspaceOf(request), (change) =>
        once(change.tx, () => write(change)),
      );
      const member = await work.findObject(request, id);
      if (member === null) {
        const detail = `${noun} ${id}, which the first request with this Idempotency-Key ${verb}, was removed since`;
        throw new Problem('conflict', detail);
      }
      const { body, headers } = answerOf(member);
      const replayed = isNew ? {} : { 'idempotency-replayed': 'true' };
      return { status: 201, body, headers: { ...headers, location: `${place}/${id}`, ...replayed } };
    }),
    serve(objects.read, read),
    serve(objects.replace, async (request) => {
      await changeObject(changes, request, await work.replace(request as RequestOf<O['replace']>));
      return read(request);
    }),
    serve(objects.remove, async (request) => {
      await changeObject(changes, request, await work.remove(request as RequestOf<O['remove']>));
      return NO_CONTENT;
    }),
    ...(work.further ?? []).map((change) =>
      serve(change.endpoint, async (request) => {
        await changeObject(changes, request, await change.plan(request as ApiRequest<never, never>));
        return read(request);
      }),
    ),
  ];
}

/** Writes a change and its line in the audit trail in one transaction. */
function changeObject<C extends { readonly tx: Transaction }>(
  changes: Changes<C>,
  request: Pick<ApiRequest, 'token' | 'audit'>,
  write: Write<C>,
): Promise<void> {
  return changes.transaction(workspaceOf(request), async (change) => {
    await write(change);
    await request.audit.writeLine(change.tx);
  });
}

function answerOf({ view, rowVersion, headers }: Member): EndpointAnswer {
  return ok(view, { etag: entityTag(rowVersion, view), ...headers });
}

/** Puts the ids of the request in place of the parameters of a path. */
function pathOf(path: string, { ids }: Pick<ApiRequest, 'ids'>): string {
  return path.replace(/\{(\w+)\}/g, (_all, name: string) => String(ids[name]));
}

/**
 * Returns the versions of the object that the request may change, as `If-Match` says; left out: any version.
 *
 * @throws Problem `malformed-request`
 */
export function versionOptions(request: Pick<ApiRequest, 'header'>): {
  expectedVersions?: readonly number[];
} {
  const versions = expectedVersions(request.header('if-match'));
  return versions === undefined ? {} : { expectedVersions: versions };
}

/** Decides whether answers show secrets in clear text. Only tokens that may write see them. */
export function shownTo({ token }: Pick<ApiRequest, 'token'>): SecretsShown {
  return token !== null && scopeIncludes(token.scope, 'write') ? 'open' : 'masked';
}

/** Time for which an Idempotency-Key is stored, ms. */
const REMEMBERED_MS = 24 * 3_600_000;
/**
 * Maximum number of expired keys that a request with a key deletes. Because the bound is
 * above 1, the number of expired keys shrinks. Deleting so many keys takes less than 1 ms.
 */
const FORGOTTEN_AT_ONCE = 200;

const PURPOSE = 'idempotency_keys.request';

/** A request that creates an object. If it is repeated with the same key, no second object is created. */
type Creation = {
  readonly workspaceId: number;
  /** The Idempotency-Key (see {@link idempotencyKey}); null: the request has no key. */
  readonly key: string | null;
  readonly path: string;
  readonly body: unknown;
};

/**
 * Reads the header `Idempotency-Key`; null: the request has none.
 *
 * @throws Problem when the header is not 1 to 255 printable ASCII characters without spaces
 */
export function idempotencyKey(header: string | undefined): string | null {
  if (header === undefined) return null;
  if (/^[\x21-\x7e]{1,255}$/.test(header)) return header;
  throw new Problem(
    'malformed-request',
    'Idempotency-Key must be 1 to 255 printable ASCII characters without spaces',
  );
}

/**
 * Runs `make`, which creates an object and returns its id, unless an earlier request with
 * the same key has created the object. Without a key, `make` always runs. The object and
 * the key are stored in the given transaction, so either both are stored or neither is.
 *
 * @param now epoch ms
 * @param secrets makes the stored digest of the body with a secret
 *   key, so that the digest does not help to guess secrets in the body
 * @throws Problem `conflict` when the key was used for another request
 */
export async function makeOnce(
  { tx, secrets, now }: { tx: Transaction; secrets: Secrets; now: number },
  request: Creation,
  make: () => Promise<number>,
): Promise<{ id: number; isNew: boolean }> {
  const { workspaceId, key, path, body } = request;
  if (key === null) return { id: await make(), isNew: true };
  const text = `${path}\n${JSON.stringify(body)}`;
  const oldest = now - REMEMBERED_MS;
  await forgetRequests(tx, oldest, FORGOTTEN_AT_ONCE);
  const before = await keptRequest(tx, { workspaceId, key }, oldest);
  if (before !== null) {
    if (secrets.isFingerprint(before.fingerprint, PURPOSE, text))
      return { id: before.resourceId, isNew: false };
    throw new Problem('conflict', 'this Idempotency-Key was used for another request: use a new key');
  }
  const id = await make();
  const fingerprint = secrets.fingerprint(PURPOSE, text);
  await keepRequest(tx, { workspaceId, key, fingerprint, resourceId: id }, now);
  return { id, isNew: true };
}

/**
 * Creates an object and its audit line in the transaction, see {@link createsOnce}.
 *
 * @param create returns the id of the object
 */
type Creating = (tx: Transaction, create: () => Promise<number>) => Promise<{ id: number; isNew: boolean }>;

/**
 * Makes the function with which a request creates an object. The function creates only
 * one object for each Idempotency-Key, and writes the audit line in the same transaction.
 *
 * @param path path of the collection
 * @param body content of the object. A request that repeats the key must have the same path and content
 * @throws Problem when the header `Idempotency-Key` is not valid
 */
export function createsOnce(
  request: Pick<ApiRequest, 'token' | 'header' | 'audit'>,
  { path, body }: { readonly path: string; readonly body: unknown },
  { secrets, clock }: { readonly secrets: Secrets; readonly clock: Clock },
): Creating {
  const { audit } = request;
  const creation = {
    workspaceId: workspaceOf(request),
    key: idempotencyKey(request.header('idempotency-key')),
    path,
    body,
  };
  return (tx, create) =>
    makeOnce({ tx, secrets, now: clock.wall() }, creation, async () => {
      const id = await create();
      await audit.writeLine(tx, id);
      return id;
    });
}
