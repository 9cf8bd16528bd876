import { parseResource, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { MASK, secretPaths } from '@svc/shared/resources/secrets.ts';
import { z } from 'zod';
import type { ConfigurationChange } from '../configuration/configuration.ts';
import type { AttributesOf } from '../configuration/kinds.ts';
import type { Listed } from '../configuration/reading.ts';
import type { SecretsShown } from '../configuration/rows.ts';
import type { AnyStored } from '../configuration/stored.ts';
import type { ApiDependencies } from './dependencies.ts';
import {
  type ApiAnswer,
  type ApiRequest,
  type Endpoint,
  endpoint,
  idOf,
  NO_CONTENT,
  ok,
  workspaceOf,
} from './endpoint.ts';
import { entityTag, expectedVersion } from './entity-tag.ts';
import { idempotencyKey, madeBefore, remember } from './idempotency.ts';
import { offsetPage } from './paging.ts';
import { invalid, Problem } from './problem.ts';

export type PageQuery = z.infer<typeof offsetPage> & Readonly<Record<string, unknown>>;

/** Where a request looks: its workspace, and the page for what belongs to one. */
export type CollectionScope = { readonly workspaceId: number; readonly ids: ApiRequest['ids'] };

/** A kind of declared resource as the API offers it: what differs between them. */
export type Collection<S extends AnyStored> = {
  /** `/v1/notifications`; members stand under `/{id}`. */
  readonly path: string;
  readonly tag: string;
  /** For summaries: `notification`. */
  readonly noun: string;
  readonly kinds: readonly ResourceKind[];
  /** Further query parameters of the list. */
  readonly filters?: z.ZodRawShape;
  /** The kind a new resource is of. @throws Problem */
  kindFor(body: unknown): ResourceKind;
  /** The body with what the path says about it. */
  completed?(body: unknown, scope: CollectionScope): unknown;
  find(scope: CollectionScope, id: number, shown: SecretsShown): Promise<S | null>;
  page(scope: CollectionScope, query: PageQuery, shown: SecretsShown): Promise<Listed<S>>;
  present(stored: readonly S[]): object[] | Promise<object[]>;
  /** In the transaction, after a create or update. */
  written?(change: ConfigurationChange, id: number, attributes: AttributesOf<ResourceKind>): Promise<void>;
};

const removal = z.object({
  cascade: z
    .enum(['true', 'false'])
    .default('false')
    .meta({ description: 'Also remove what cannot be without it.' }),
});

/** List, create, read, replace and remove. */
export function collectionEndpoints<S extends AnyStored>(
  collection: Collection<S>,
  { configuration, clock }: Pick<ApiDependencies, 'configuration' | 'clock'>,
): Endpoint[] {
  const { path, tag, noun, kinds } = collection;
  const schema = { resource: kinds } as const;
  const member = `${path}/{id}`;

  async function answer(
    scope: CollectionScope,
    id: number,
    shown: SecretsShown,
    status = 200,
  ): Promise<ApiAnswer> {
    const stored = await existing(scope, id, shown);
    const [view] = await collection.present([stored]);
    return { status, body: view, headers: { etag: entityTag(stored.rowVersion) } };
  }

  async function existing(scope: CollectionScope, id: number, shown: SecretsShown): Promise<S> {
    const stored = await collection.find(scope, id, shown);
    if (stored === null) throw new Problem('not-found', `there is no ${noun} ${id}`);
    return stored;
  }

  return [
    endpoint({
      method: 'GET',
      path,
      access: 'read',
      tag,
      summary: `List ${noun}s, by ascending id`,
      query: offsetPage.extend(collection.filters ?? {}),
      answers: { 200: { description: 'A page of the list.', schema } },
      async handle(request) {
        const query = request.query as PageQuery;
        const page = await collection.page(scopeOf(request), query, shownTo(request));
        const data = await collection.present(page.data);
        return ok({ data, total: page.total, limit: query.limit, offset: query.offset });
      },
    }),
    endpoint({
      method: 'POST',
      path,
      access: 'write',
      tag,
      summary: `Create a ${noun}`,
      body: schema,
      headers: ['Idempotency-Key'],
      answers: { 201: { description: 'Created.', schema } },
      async handle(request) {
        const scope = scopeOf(request);
        const body = collection.completed?.(request.body, scope) ?? request.body;
        const kind = collection.kindFor(body);
        const attributes = parsed(kind, body);
        const key = idempotencyKey(request.header('idempotency-key'));
        const idempotent = key === null ? null : { workspaceId: scope.workspaceId, key, path, body };
        const { id, isNew } = await configuration.transaction(contextOf(scope), async (change) => {
          const before = idempotent === null ? null : await madeBefore(change.tx, idempotent);
          if (before !== null) return { id: before, isNew: false };
          const created = await change.create(kind, attributes);
          await collection.written?.(change, created, attributes);
          if (idempotent !== null) await remember(change.tx, idempotent, created, clock.wall());
          return { id: created, isNew: true };
        });
        const answered = await answer(scope, id, 'open', 201);
        const location = `${pathOf(path, scope)}/${id}`;
        const replay = isNew ? {} : { 'idempotency-replayed': 'true' };
        return { ...answered, headers: { ...answered.headers, location, ...replay } };
      },
    }),
    endpoint({
      method: 'GET',
      path: member,
      access: 'read',
      tag,
      summary: `Read a ${noun}`,
      answers: { 200: { description: `The ${noun}.`, schema } },
      handle: (request) => answer(scopeOf(request), idOf(request), shownTo(request)),
    }),
    endpoint({
      method: 'PUT',
      path: member,
      access: 'write',
      tag,
      summary: `Replace all attributes of a ${noun}`,
      body: schema,
      headers: ['If-Match'],
      answers: { 200: { description: `The ${noun} as it is now.`, schema } },
      async handle(request) {
        const scope = scopeOf(request);
        const id = idOf(request);
        const { kind } = await existing(scope, id, 'masked');
        const body = collection.completed?.(request.body, scope) ?? request.body;
        const attributes = parsed(kind, body);
        const version = expectedVersion(request.header('if-match'));
        await configuration.transaction(contextOf(scope), async (change) => {
          await change.update(
            kind,
            id,
            attributes,
            version === undefined ? {} : { expectedVersion: version },
          );
          await collection.written?.(change, id, attributes);
        });
        return answer(scope, id, 'open');
      },
    }),
    endpoint({
      method: 'DELETE',
      path: member,
      access: 'write',
      tag,
      summary: `Remove a ${noun}`,
      query: removal,
      headers: ['If-Match'],
      answers: { 204: { description: 'Removed.' } },
      async handle(request) {
        const scope = scopeOf(request);
        const id = idOf(request);
        const { kind } = await existing(scope, id, 'masked');
        const version = expectedVersion(request.header('if-match'));
        await configuration.transaction(contextOf(scope), (change) =>
          change.remove(kind, id, {
            cascade: request.query.cascade === 'true',
            ...(version === undefined ? {} : { expectedVersion: version }),
          }),
        );
        return NO_CONTENT;
      },
    }),
  ];
}

export function scopeOf(request: Pick<ApiRequest, 'token' | 'ids'>): CollectionScope {
  return { workspaceId: workspaceOf(request), ids: request.ids };
}

/** Secrets are open to those who may write them anyway. */
export function shownTo({ token }: Pick<ApiRequest, 'token'>): SecretsShown {
  return token?.scope === 'write' ? 'open' : 'masked';
}

function contextOf({ workspaceId }: CollectionScope) {
  return { workspaceId, actor: 'api' } as const;
}

function pathOf(path: string, { ids }: CollectionScope): string {
  return path.replace(/\{(\w+)\}/g, (_all, name: string) => String(ids[name]));
}

/** @throws Problem with all that is wrong. */
function parsed(kind: ResourceKind, body: unknown): AttributesOf<ResourceKind> {
  const result = parseResource(kind, body, 'api');
  const masks = maskedPaths(kind, body).map((path) => ({
    path,
    message: `is the mask that read tokens are shown: send the secret itself`,
  }));
  if (!result.ok) throw invalid([...result.issues, ...masks]);
  if (masks.length > 0) throw invalid(masks);
  return result.value;
}

/** Secrets given as the mask: somebody sends back what a read token was answered. */
function maskedPaths(kind: ResourceKind, body: unknown): PropertyKey[][] {
  return secretPaths(kind).flatMap((pattern) => masksAt(body, pattern));
}

function masksAt(value: unknown, [step, ...rest]: readonly string[]): PropertyKey[][] {
  if (step === undefined) return value === MASK ? [[]] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value)
    .filter(([name]) => step === '*' || step === name)
    .flatMap(([name, inner]) => masksAt(inner, rest).map((path) => [name, ...path]));
}
