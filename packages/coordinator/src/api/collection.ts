import { TERRAFORM_PROVIDER } from '@svc/shared/api/client-settings.ts';
import { type OwnRegion, regionsWith } from '@svc/shared/regions.ts';
import {
  DEFINITIONS,
  parseResource,
  presented,
  type ResourceKind,
  type Resources,
} from '@svc/shared/resources/registry.ts';
import { z } from 'zod';
import type { ConfigurationChange, ShownBy } from '../declaration/configuration.ts';
import type { AttributesOf } from '../declaration/kinds/kind-tables.ts';
import type { Metadata, StoredIn } from '../declaration/stored.ts';
import type { ListScope } from '../store/declaration/resource-lists.ts';
import type { ResourceTable } from '../store/declaration/resources.ts';
import type { ApiParts } from './api-parts.ts';
import { instantText } from './body-members.ts';
import { type ApiRequest, idOf, type ServedEndpoint, workspaceOf } from './endpoint.ts';
import { nameFilter, offsetPage, typeFilter } from './lists.ts';
import {
  type Changes,
  defineObjects,
  type FurtherChange,
  type Member,
  type ObjectRequest,
  serveObjects,
  shownTo,
  versionOptions,
} from './objects.ts';
import { invalid, Problem, type ProblemCode } from './problem.ts';

/*
 * Adds the declared resources to the table of objects (`objects.ts`). The texts
 * and schemas of their endpoints are made from the definitions of the resources.
 */

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

/**
 * Returns what the query of a removal asks for the components that show the object.
 *
 * @throws Problem when the query asks to remove the components and also to keep them
 */
function shownByOf({ cascade, components }: z.infer<typeof removalOfShown>): ShownBy {
  if (components !== 'keep') return cascade === 'true' ? 'remove' : 'refuse';
  if (cascade !== 'true') return 'keep';
  const message = 'must not be keep when cascade is true';
  throw new Problem('malformed-request', 'the query is not valid', {
    errors: [{ pointer: '', parameter: 'components', message }],
  });
}

/**
 * The kinds of resources in one list of the API, and texts
 * about the list that the definitions do not contain.
 */
type Kinds<K extends ResourceKind> = {
  readonly tag: string;
  readonly kinds: readonly [K, ...K[]];
  /** Words for the attributes that the filter `name` searches: `title or slug`. */
  readonly named: string;
  /**
   * The types that the filter `type` accepts; left out: all
   * members have one type, and the list has no such filter.
   */
  readonly types?: readonly string[];
  /** Says which objects are removed together with a member of the list, or prevent its removal. */
  readonly removal?: string;
  /**
   * Whether components of status pages can show members of the list. If they
   * can, the query of a removal may say what happens to the components.
   */
  readonly isShown?: boolean;
};

/** Defines the five endpoints of a list of resources, without handlers. */
export function defineResources<const P extends string, K extends ResourceKind>(
  path: P,
  { tag, kinds, named, types, removal: description, isShown = false }: Kinds<K>,
) {
  const { noun } = DEFINITIONS[kinds[0]];
  const problems: readonly ProblemCode[] = ['conflict', ...refusedReferences(kinds)];
  // For TypeScript, every query has `type`. At run time, a list whose
  // members have one type refuses `type` as an unknown parameter.
  const query = offsetPage.extend({ name: nameFilter(named), type: typeFilter(types ?? ['']) });
  const queryWithoutType = query.omit({ type: true }) as unknown as typeof query;
  const objects = defineObjects({
    path,
    tag,
    noun,
    schema: { resource: kinds },
    list: {
      summary: `List ${noun}s, by ascending id`,
      query: types === undefined ? queryWithoutType : query,
      answer: 'A page of the list.',
      schema: { resources: kinds },
    },
    create: { summary: `Create a ${noun}`, body: { resource: kinds }, problems },
    read: {
      summary: `Read a ${noun}`,
      answer: `The ${noun}.`,
      headers: ['Svc-Declared-As', 'Svc-Declared-In'],
    },
    replace: {
      summary: `Replace all attributes of a ${noun}`,
      description:
        'An attribute that the body leaves out gets its default. From the Terraform provider it keeps its value: the provider sends all attributes that its version knows.',
      answer: `The ${noun} as it is now.`,
      body: { resource: kinds },
      problems,
    },
    remove: {
      summary: `Remove a ${noun}`,
      ...(description === undefined ? {} : { description }),
      query: isShown ? removalOfShown : (removal as unknown as typeof removalOfShown),
      headers: ['If-Match'],
      problems: ['conflict'],
    },
  });
  return { ...objects, kinds };
}

/** How requests for a list of resources are read, and how its resources are presented in answers. */
type Presentation<T extends ResourceTable> = {
  readonly table: T;
  /**
   * Checks the object that the path names before the list, for example a status page.
   *
   * @throws Problem when that object does not exist or belongs to another workspace
   */
  requireParent?(request: ObjectRequest): Promise<void>;
  /**
   * Returns the kind of a new resource, in a list with several kinds.
   *
   * @throws Problem when the body names no kind of the list
   */
  kindFor?(body: unknown): ResourceKind;
  /** Adds to the body the members whose values the path gives, such as `page_id`. */
  completed?(body: unknown, request: ObjectRequest): unknown;
  present(stored: readonly StoredIn<T>[]): object[] | Promise<object[]>;
  /**
   * Called in the transaction, after a resource is created or updated.
   *
   * @param before attributes before the update; null: the resource was created
   */
  written?(
    change: ConfigurationChange,
    id: number,
    attributes: AttributesOf<ResourceKind>,
    before: AttributesOf<ResourceKind> | null,
  ): Promise<void>;
  readonly further?: readonly FurtherChange<ConfigurationChange>[];
};

type Parts = Pick<
  ApiParts,
  'configuration' | 'reading' | 'declaredFile' | 'secrets' | 'clock' | 'ownRegions'
>;

/** Gives handlers to the endpoints of {@link defineResources}. */
export function serveResources<const P extends string, K extends ResourceKind, T extends ResourceTable>(
  objects: ReturnType<typeof defineResources<P, K>>,
  presentation: Presentation<T>,
  parts: Parts,
): ServedEndpoint[] {
  const { table, requireParent, kindFor, completed, present, written, further = [] } = presentation;
  const { reading, configuration } = parts;
  /**
   * Finds the kind of an existing member without decrypting its secrets.
   * So a member whose secrets cannot be decrypted can still be removed.
   */
  const kindOf = async (request: ObjectRequest, id: number) => {
    const kind = await reading.kindOf(table, rowsOf(request), id);
    if (kind === null) throw new Problem('not-found', `there is no ${objects.noun} ${id}`);
    return kind;
  };
  const bodyOf = (body: unknown, request: ObjectRequest) => completed?.(body, request) ?? body;
  const changes: Changes<ConfigurationChange> = {
    transaction: (workspaceId, work) => configuration.transaction({ workspaceId, actor: 'api' }, work),
  };
  return serveObjects(
    objects,
    changes,
    {
      further,
      async findObject(request, id): Promise<Member | null> {
        const stored = await reading.findStored(table, rowsOf(request), id, shownTo(request));
        if (stored === null) return null;
        const [view = {}] = await present([stored]);
        return { view, rowVersion: stored.rowVersion, headers: declaredHeaders(stored, parts) };
      },
      async list(request) {
        const { limit, offset, name, type } = request.query;
        await requireParent?.(request);
        const filter = {
          ...(name === undefined ? {} : { nameContains: name }),
          ...(type === undefined ? {} : { type }),
        };
        const rows = rowsOf(request);
        const page = await reading.listStored(table, rows, { limit, offset }, shownTo(request), filter);
        return { data: await present(page.data), total: page.total, limit, offset };
      },
      async create(request) {
        await requireParent?.(request);
        const body = bodyOf(request.body, request);
        const kind = kindFor?.(body) ?? objects.kinds[0];
        const attributes = attributesIn(kind, body, parts.ownRegions);
        return {
          keyed: attributes,
          async write(change) {
            const made = await change.create(kind, attributes);
            await written?.(change, made, attributes, null);
            return made;
          },
        };
      },
      async replace(request) {
        const id = idOf(request);
        const kind = await kindOf(request, id);
        const body = bodyOf(request.body, request);
        const attributes = attributesIn(kind, body, parts.ownRegions);
        const options = { kept: notKnownTo(request, kind, body), ...versionOptions(request) };
        const before =
          written === undefined ? null : await reading.findStored(table, rowsOf(request), id, 'open');
        return async (change) => {
          await change.update(kind, id, attributes, options);
          await written?.(change, id, attributes, before?.attributes ?? null);
        };
      },
      async remove(request) {
        const id = idOf(request);
        const kind = await kindOf(request, id);
        const options = { shownBy: shownByOf(request.query), ...versionOptions(request) };
        return (change) => change.remove(kind, id, options);
      },
    },
    parts,
  );
}

/**
 * Returns the normalized attributes of the resource in a body.
 *
 * @throws Problem `invalid` that lists all errors
 */
export function attributesIn(
  kind: ResourceKind,
  body: unknown,
  ownRegions: readonly OwnRegion[] = [],
): AttributesOf<ResourceKind> {
  const result = parseResource(kind, body, 'api', regionsWith(ownRegions));
  if (result.ok) return result.value;
  throw invalid(result.issues);
}

/**
 * Returns the attributes that the sender of a replacement does not know, so that they keep their values. The
 * Terraform provider sends every attribute that it knows, and an unset one as null: what it leaves out is
 * newer than the provider, and was set elsewhere. Other clients leave out what shall have its default.
 */
function notKnownTo(
  request: Pick<ApiRequest, 'header'>,
  kind: ResourceKind,
  body: unknown,
): readonly string[] {
  if (!request.header('user-agent')?.startsWith(`${TERRAFORM_PROVIDER}/`)) return [];
  const sent = new Set(Object.keys(body as object));
  return Object.keys(DEFINITIONS[kind].attributes).filter((name) => !sent.has(name));
}

function declaredHeaders({ owner, localName }: Metadata, { declaredFile }: Parts): Record<string, string> {
  if (owner !== 'file' || localName === null) return {};
  return {
    'svc-declared-as': localName,
    ...(declaredFile === undefined ? {} : { 'svc-declared-in': encodeURIComponent(declaredFile) }),
  };
}

/**
 * Returns the problem codes for objects that are missing although the body refers
 * to them. `page_id` does not count, because the path contains the page's id too.
 */
function refusedReferences(kinds: readonly ResourceKind[]): readonly ProblemCode[] {
  const refers = kinds.some((kind) =>
    Object.entries(DEFINITIONS[kind].attributes).some(
      ([name, { value }]) => value.references !== undefined && name !== 'page_id',
    ),
  );
  return refers ? ['reference-not-found'] : [];
}

/**
 * Returns the rows that a request may see: the rows of its workspace. If
 * the path names a status page, the rows must also belong to this page.
 */
function rowsOf(request: ObjectRequest): ListScope {
  const workspaceId = workspaceOf(request);
  const { page_id: pageId } = request.ids;
  return pageId === undefined ? { workspaceId } : { workspaceId, pageId };
}

type Declared = Metadata & { readonly kind: ResourceKind; readonly attributes: Resources[ResourceKind] };

/**
 * Returns a declared resource as an answer shows it: its id is a text, and its instants are texts (RFC 3339).
 *
 * @param computed members that the service adds
 */
export function resourceView(stored: Declared, computed: object): Readonly<Record<string, unknown>> {
  return {
    id: String(stored.id),
    ...presented(stored.kind, stored.attributes),
    ...computed,
    created_at: instantText(stored.createdAt),
    updated_at: instantText(stored.updatedAt),
  };
}
