import { DEFINITIONS, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { z } from 'zod';
import type { ConfigurationChange, ShownBy } from '../configuration/configuration.ts';
import type { AttributesOf, KindIn } from '../configuration/kinds/kinds.ts';
import type { Metadata, SecretsShown, StoredIn } from '../configuration/stored.ts';
import type { ListScope } from '../store/resource-lists.ts';
import type { ResourceTable } from '../store/resources.ts';
import { scopeIncludes } from '../store/tokens.ts';
import type { ApiParts } from './api-parts.ts';
import { createdAnswer, createdDocument } from './created-answer.ts';
import {
  type ApiRequest,
  type Endpoint,
  type EndpointAnswer,
  endpoint,
  idOf,
  NO_CONTENT,
  ok,
  workspaceOf,
} from './endpoint.ts';
import { entityTag, expectedVersions } from './entity-tag.ts';
import { nameFilter, type typeFilter } from './filters.ts';
import { createsOnce } from './idempotency.ts';
import { offsetPage } from './paging.ts';
import { Problem, type ProblemCode } from './problem.ts';
import { attributesIn } from './resource-body.ts';

export type PageQuery = z.infer<typeof offsetPage>;

/** The scope of a request: its workspace, and the page for objects that belong to one. */
export type CollectionScope = { readonly workspaceId: number; readonly ids: ApiRequest['ids'] };

/** The kinds of one list of the API, with what differs between lists beside the definitions. */
export type Collection<T extends ResourceTable> = {
  readonly table: T;
  readonly tag: string;
  readonly kinds: readonly [ResourceKind, ...ResourceKind[]];
  /** The attributes that the list's filter `name` searches, for its description. */
  readonly named: string;
  /** The list's filter by type, where there are several types. */
  readonly type?: ReturnType<typeof typeFilter>;
  /** The objects that are removed together with a member, or that prevent its removal. */
  readonly removal?: string;
  /**
   * Whether components of status pages show members. The parameters of a removal then say what happens to
   * those components.
   */
  readonly isShown?: boolean;
  /** @throws Problem when the parent in the path does not exist or belongs to another workspace */
  requireParent?(scope: CollectionScope): Promise<void>;
  /** Returns the kind of a new resource, where the list has several. @throws Problem */
  kindFor?(body: unknown): ResourceKind;
  /** Adds the members that the path determines to the body. */
  completed?(body: unknown, scope: CollectionScope): unknown;
  present(stored: readonly StoredIn<T>[]): object[] | Promise<object[]>;
  /**
   * Called in the transaction, after a create or an update.
   *
   * @param before null: it was created
   */
  written?(
    change: ConfigurationChange,
    id: number,
    attributes: AttributesOf<ResourceKind>,
    before: AttributesOf<ResourceKind> | null,
  ): Promise<void>;
};

const removal = z.object({
  cascade: z
    .enum(['true', 'false'], 'must be true or false')
    .default('false')
    .meta({ description: '`true`: also remove the components that show the object.' }),
});

const removalOfShown = removal.extend({
  components: z.enum(['keep'], 'must be keep').optional().meta({
    description: '`keep`: keep the components that show the monitor. They then show nothing.',
  }),
});

type Removal = z.infer<typeof removalOfShown>;

/** @throws Problem when both are requested */
function shownByOf({ cascade, components }: Removal): ShownBy {
  if (components !== 'keep') return cascade === 'true' ? 'remove' : 'refuse';
  if (cascade !== 'true') return 'keep';
  const message = 'must not be keep when cascade is true';
  throw new Problem('malformed-request', 'the query is not valid', {
    errors: [{ pointer: '', parameter: 'components', message }],
  });
}

type Parts = Pick<ApiParts, 'configuration' | 'reading' | 'declaredFile' | 'secrets' | 'clock'>;

/** A collection with what its endpoints need. */
type Listed<T extends ResourceTable> = Collection<T> & {
  readonly parts: Parts;
  /** Path like `/v1/notifications`. Members are at `/{id}` below it. */
  readonly path: string;
  /** Noun for summaries: `notification`. */
  readonly noun: string;
};

/** The endpoints that list, create, read, replace and remove. */
export function collectionEndpoints<T extends ResourceTable>(
  collection: Collection<T>,
  parts: Parts,
): Endpoint[] {
  const { path, noun } = DEFINITIONS[collection.kinds[0]];
  const listed = { ...collection, parts, path, noun };
  return [
    listEndpoint(listed),
    createEndpoint(listed),
    readEndpoint(listed),
    replaceEndpoint(listed),
    removeEndpoint(listed),
  ];
}

function listEndpoint<T extends ResourceTable>(collection: Listed<T>): Endpoint {
  const { table, path, tag, noun, kinds, named, type, parts } = collection;
  const filters = { name: nameFilter(named), ...(type === undefined ? {} : { type }) };
  return endpoint({
    method: 'GET',
    path,
    access: 'read',
    tag,
    summary: `List ${noun}s, by ascending id`,
    query: offsetPage.extend(filters),
    answers: { 200: { description: 'A page of the list.', schema: { resource: kinds } } },
    async handle(request) {
      const {
        limit,
        offset,
        name,
        type: wanted,
      } = request.query as PageQuery & { name?: string; type?: string };
      const scope = scopeOf(request);
      await collection.requireParent?.(scope);
      const filter = {
        ...(name === undefined ? {} : { nameContains: name }),
        ...(wanted === undefined ? {} : { type: wanted }),
      };
      const page = await parts.reading.list(
        table,
        rowsOf(scope),
        { limit, offset },
        shownTo(request),
        filter,
      );
      return ok({ data: await collection.present(page.data), total: page.total, limit, offset });
    },
  });
}

function createEndpoint<T extends ResourceTable>(collection: Listed<T>): Endpoint {
  const { path, tag, noun, kinds } = collection;
  const { parts } = collection;
  return endpoint({
    method: 'POST',
    path,
    access: 'write',
    tag,
    summary: `Create a ${noun}`,
    body: { resource: kinds },
    headers: ['Idempotency-Key'],
    answers: { 201: createdDocument({ resource: kinds }) },
    problems: ['conflict', ...refusedReferences(kinds)],
    async handle(request) {
      const scope = scopeOf(request);
      await collection.requireParent?.(scope);
      const body = collection.completed?.(request.body, scope) ?? request.body;
      const kind = collection.kindFor?.(body) ?? kinds[0];
      const attributes = attributesIn(kind, body);
      const once = createsOnce(request, { path, body: attributes }, parts);
      const { id, isNew } = await parts.configuration.transaction(contextOf(scope), (change) =>
        once(change.tx, async () => {
          const made = await change.create(kind, attributes);
          await collection.written?.(change, made, attributes, null);
          return made;
        }),
      );
      const answered = await member(collection, scope, id, 'open');
      return createdAnswer(answered, { noun, id, path: pathOf(path, scope), isNew });
    },
  });
}

function readEndpoint<T extends ResourceTable>(collection: Listed<T>): Endpoint {
  const { path, tag, noun, kinds } = collection;
  return endpoint({
    method: 'GET',
    path: `${path}/{id}`,
    access: 'read',
    tag,
    summary: `Read a ${noun}`,
    headers: ['If-None-Match'],
    answers: {
      200: {
        description: `The ${noun}.`,
        schema: { resource: kinds },
        headers: ['ETag', 'Svc-Declared-As', 'Svc-Declared-In'],
      },
    },
    handle: (request) => requireMember(collection, request, shownTo(request)),
  });
}

function replaceEndpoint<T extends ResourceTable>(collection: Listed<T>): Endpoint {
  const { path, tag, noun, kinds } = collection;
  const schema = { resource: kinds } as const;
  return endpoint({
    method: 'PUT',
    path: `${path}/{id}`,
    access: 'write',
    tag,
    summary: `Replace all attributes of a ${noun}`,
    body: schema,
    headers: ['If-Match'],
    answers: { 200: { description: `The ${noun} as it is now.`, schema, headers: ['ETag'] } },
    problems: ['conflict', ...refusedReferences(kinds)],
    async handle(request) {
      const scope = scopeOf(request);
      const id = idOf(request);
      const kind = await kindOf(collection, scope, id);
      const body = collection.completed?.(request.body, scope) ?? request.body;
      const attributes = attributesIn(kind, body);
      const options = versionOptions(request);
      const before = await attributesBefore(collection, scope, id);
      await collection.parts.configuration.transaction(contextOf(scope), async (change) => {
        await change.update(kind, id, attributes, options);
        await collection.written?.(change, id, attributes, before);
        await request.audit.write(change.tx);
      });
      return requireMember(collection, request, 'open');
    },
  });
}

function removeEndpoint<T extends ResourceTable>(collection: Listed<T>): Endpoint {
  const { path, tag, noun, removal: description, isShown = false } = collection;
  return endpoint({
    method: 'DELETE',
    path: `${path}/{id}`,
    access: 'write',
    tag,
    summary: `Remove a ${noun}`,
    ...(description === undefined ? {} : { description }),
    query: isShown ? removalOfShown : removal,
    headers: ['If-Match'],
    answers: { 204: { description: 'Removed.' } },
    problems: ['conflict'],
    async handle(request) {
      const scope = scopeOf(request);
      const id = idOf(request);
      const kind = await kindOf(collection, scope, id);
      const options = { shownBy: shownByOf(request.query as Removal), ...versionOptions(request) };
      await collection.parts.configuration.transaction(contextOf(scope), async (change) => {
        await change.remove(kind, id, options);
        await request.audit.write(change.tx);
      });
      return NO_CONTENT;
    },
  });
}

async function member<T extends ResourceTable>(
  { table, parts, present }: Listed<T>,
  scope: CollectionScope,
  id: number,
  shown: SecretsShown,
): Promise<EndpointAnswer | null> {
  const stored = await parts.reading.find(table, rowsOf(scope), id, shown);
  if (stored === null) return null;
  const [view = {}] = await present([stored]);
  return ok(view, { etag: entityTag(stored.rowVersion, view), ...declaredHeaders(stored, parts) });
}

function declaredHeaders({ owner, localName }: Metadata, { declaredFile }: Parts): Record<string, string> {
  if (owner !== 'file' || localName === null) return {};
  return {
    'svc-declared-as': localName,
    ...(declaredFile === undefined ? {} : { 'svc-declared-in': encodeURIComponent(declaredFile) }),
  };
}

/** @throws Problem `not-found` */
async function requireMember<T extends ResourceTable>(
  collection: Listed<T>,
  request: Pick<ApiRequest, 'token' | 'ids'>,
  shown: SecretsShown,
): Promise<EndpointAnswer> {
  const answered = await member(collection, scopeOf(request), idOf(request), shown);
  return answered ?? missing(collection, idOf(request));
}

/**
 * The kind of an existing member. Nothing of it is opened: a member that cannot be read can be removed.
 *
 * @throws Problem `not-found`
 */
async function kindOf<T extends ResourceTable>(
  collection: Listed<T>,
  scope: CollectionScope,
  id: number,
): Promise<KindIn<T>> {
  const { table, parts } = collection;
  return (await parts.reading.kindOf(table, rowsOf(scope), id)) ?? missing(collection, id);
}

/** Null where the collection does not ask for them, or where the member is gone since. */
async function attributesBefore<T extends ResourceTable>(
  { written, table, parts }: Listed<T>,
  scope: CollectionScope,
  id: number,
): Promise<AttributesOf<ResourceKind> | null> {
  if (written === undefined) return null;
  return (await parts.reading.find(table, rowsOf(scope), id, 'open'))?.attributes ?? null;
}

function missing({ noun }: { readonly noun: string }, id: number): never {
  throw new Problem('not-found', `there is no ${noun} ${id}`);
}

export function versionOptions(request: Pick<ApiRequest, 'header'>): {
  expectedVersions?: readonly number[];
} {
  const versions = expectedVersions(request.header('if-match'));
  return versions === undefined ? {} : { expectedVersions: versions };
}

/**
 * The problem codes for missing objects that a body of these kinds may refer to. The path names its page, so
 * `page_id` does not count.
 */
function refusedReferences(kinds: readonly ResourceKind[]): readonly ProblemCode[] {
  const refers = kinds.some((kind) =>
    Object.entries(DEFINITIONS[kind].attributes).some(
      ([name, { value }]) => value.references !== undefined && name !== 'page_id',
    ),
  );
  return refers ? ['reference-not-found'] : [];
}

function rowsOf({ workspaceId, ids }: CollectionScope): ListScope {
  return ids.page_id === undefined ? { workspaceId } : { workspaceId, pageId: ids.page_id };
}

export function scopeOf(request: Pick<ApiRequest, 'token' | 'ids'>): CollectionScope {
  return { workspaceId: workspaceOf(request), ids: request.ids };
}

/** Secrets are shown in clear text to tokens that may write them. */
export function shownTo({ token }: Pick<ApiRequest, 'token'>): SecretsShown {
  return token !== null && scopeIncludes(token.scope, 'write') ? 'open' : 'masked';
}

function contextOf({ workspaceId }: CollectionScope) {
  return { workspaceId, actor: 'api' } as const;
}

function pathOf(path: string, { ids }: CollectionScope): string {
  return path.replace(/\{(\w+)\}/g, (_all, name: string) => String(ids[name]));
}
