import type { EgressGuard } from '@svc/shared/egress.ts';
import { PAGE_LATENCIES, THEMES } from '@svc/shared/resources/status-page.ts';
import { MASK } from '@svc/shared/secret.ts';
import { z } from 'zod';
import { InvalidReference } from '../../declaration/errors.ts';
import { pageWarnings } from '../../declaration/page-warnings.ts';
import { storedIn } from '../../declaration/reading.ts';
import type { SecretsShown, StoredPage } from '../../declaration/stored.ts';
import { declaredAccess, isEntitled } from '../../pages/access/credential.ts';
import { previewOf } from '../../pages/documents.ts';
import type { ServicePlace } from '../../pages/domains/pointing.ts';
import { listResources } from '../../store/declaration/resource-lists.ts';
import { existingResources } from '../../store/declaration/resources.ts';
import { type CheckedDomain, checkedDomain, checkedDomains } from '../../store/pages/page-domains.ts';
import { listSubscribers, type Recipient, removeRecipient } from '../../store/pages/page-recipients.ts';
import { pageHeaders } from '../../web/headers.ts';
import { id } from '../answers.ts';
import type { ApiParts } from '../api-parts.ts';
import { instantTextOrNull } from '../body-members.ts';
import { defineResources, resourceView, serveResources } from '../collection.ts';
import {
  type ApiRequest,
  endpoint,
  idOf,
  NO_CONTENT,
  ok,
  type ServedEndpoint,
  serve,
  workspaceOf,
} from '../endpoint.ts';
import { listOf, offsetPage } from '../lists.ts';
import { furtherChange, shownTo, versionOptions } from '../objects.ts';
import { Problem } from '../problem.ts';

const appearance = z
  .strictObject({
    published: z.boolean('must be true or false').optional(),
    theme: z.enum(THEMES, `must be one of ${THEMES.join(', ')}`).optional(),
    latency: z
      .enum(PAGE_LATENCIES, `must be one of ${PAGE_LATENCIES.join(', ')}`)
      .meta({ description: 'The time over which the page shows latencies. With `none` it shows none.' })
      .optional(),
  })
  .meta({ examples: [{ published: true, theme: 'dark', latency: '24h' }] });

export const STATUS_PAGE = defineResources('/v1/status-pages', {
  tag: 'Status pages',
  kinds: ['svc_status_page'],
  named: 'title or slug',
  removal: 'The components and component groups of the page are removed with it.',
});

export const changeAppearance = endpoint({
  method: 'PATCH',
  path: '/v1/status-pages/{id}/appearance',
  access: 'write',
  tag: 'Status pages',
  summary: 'Change whether a page is served, its colours, and whether it shows latencies',
  body: appearance,
  headers: ['If-Match'],
  answers: {
    200: {
      description: 'The page as it is now.',
      schema: { resource: 'svc_status_page' },
      headers: ['ETag'],
    },
  },
});

export function statusPageEndpoints(parts: ApiParts): ServedEndpoint[] {
  return serveResources(
    STATUS_PAGE,
    {
      table: 'status_pages',
      present: (stored) => pageViews(parts, stored),
      further: [
        furtherChange(changeAppearance, (request) => {
          const { published, theme, latency } = request.body;
          const appearance = {
            ...(published === undefined ? {} : { published }),
            ...(theme === undefined ? {} : { theme }),
            ...(latency === undefined ? {} : { latency }),
          };
          const versions = versionOptions(request);
          return (change) => change.setAppearance(idOf(request), appearance, versions);
        }),
      ],
    },
    parts,
  );
}

async function pageViews(
  { store, guard }: Pick<ApiParts, 'store' | 'guard'>,
  stored: readonly StoredPage[],
): Promise<object[]> {
  const withDomain = stored.flatMap(({ id, attributes }) => (attributes.custom_domain === null ? [] : [id]));
  const checked = await checkedDomains(store, withDomain);
  return stored.map((page) => pageView(page, checked.get(page.id) ?? null, guard));
}

/**
 * Maximum number of components in one request for an arrangement. Only
 * so many components of the page are read, in the order of their ids.
 */
const MOST_MOVED = 1_000;

const place = z.int('must be a whole number').min(-2_147_483_648).max(2_147_483_647).nullable();

const arrangement = z
  .strictObject({
    components: z
      .array(
        z.strictObject({
          id,
          order: place.meta({ description: 'Place on the page, in ascending order.' }),
          group_order: place.meta({ description: 'Place in the group, in ascending order.' }),
        }),
      )
      .max(MOST_MOVED)
      .meta({ description: 'Components of the page that get other places. All others keep their places.' }),
  })
  .meta({
    examples: [
      {
        components: [
          { id: '7', order: 1, group_order: null },
          { id: '9', order: 2, group_order: null },
        ],
      },
    ],
  });

type Parts = Pick<ApiParts, 'configuration' | 'reading' | 'secrets'>;

export const arrangePage = endpoint({
  method: 'PATCH',
  path: '/v1/status-pages/{id}/arrangement',
  access: 'write',
  tag: 'Status pages',
  summary: 'Change the places of components of a page, all at once',
  body: arrangement,
  answers: { 204: { description: 'Every component has its place.' } },
  problems: ['conflict', 'reference-not-found'],
});

/**
 * Makes the endpoint that moves components of a status page. If
 * one component of a request cannot be moved, none is moved.
 */
export function pageArrangementEndpoints({ configuration, reading, secrets }: Parts): ServedEndpoint[] {
  return [
    serve(arrangePage, async (request) => {
      const [workspaceId, pageId] = [workspaceOf(request), idOf(request)];
      const page = await reading.findStored('status_pages', { workspaceId }, pageId, 'masked');
      if (page === null) throw new Problem('not-found', `there is no status page ${pageId}`);
      await configuration.transaction({ workspaceId, actor: 'api' }, async (change) => {
        const all = { limit: MOST_MOVED, offset: 0 };
        const { rows } = await listResources(change.tx, 'components', { workspaceId, pageId }, all, {});
        const source = { source: change.tx, secrets, shown: 'masked' } as const;
        const stored = new Map(
          (await storedIn(source, 'components', rows)).map((component) => [String(component.id), component]),
        );
        for (const [index, { id: componentId, ...places }] of request.body.components.entries()) {
          const component = stored.get(componentId);
          if (component === undefined) {
            const message = `page ${pageId} has no component ${componentId}`;
            throw new InvalidReference(message, ['components', index, 'id']);
          }
          const attributes = { ...component.attributes, ...places };
          await change.update('svc_status_page_component', component.id, attributes);
        }
        await request.audit.writeLine(change.tx);
      });
      return NO_CONTENT;
    }),
  ];
}

const domainView = z
  .object({
    domain: z.string(),
    state: z.enum(['verified', 'pending']).meta({
      description: '`verified`: the domain points to this service, and the page is served under it.',
    }),
    problem: z.string().nullable().meta({
      description: 'What is missing, and what to do. Null: nothing, or the domain was not checked yet.',
    }),
    points_to: z
      .object({ cname: z.string().nullable(), addresses: z.array(z.string()) })
      .meta({ description: 'Where the domain must point: by a CNAME record, or by address records.' }),
    checked_at: z.iso.datetime().nullable(),
    verified_at: z.iso.datetime().nullable().meta({ description: 'The last check that found it here.' }),
  })
  .meta({
    examples: [
      {
        domain: 'status.example.com',
        state: 'pending',
        problem:
          'status.example.com has no address in the DNS: add a CNAME record for status.example.com with svc.example.com, or address records with 192.0.2.1',
        points_to: { cname: 'svc.example.com', addresses: ['192.0.2.1'] },
        checked_at: '2026-11-22T14:03:00.000Z',
        verified_at: null,
      },
    ],
  });

type DomainParts = Pick<ApiParts, 'store' | 'reading' | 'domains'>;

const pageDomain = endpoint({
  method: 'GET',
  path: '/v1/status-pages/{id}/domain',
  access: 'read',
  tag: 'Status pages',
  summary: 'Read whether the custom domain of a page points here, or what is missing',
  description:
    'The DNS of a pending domain is checked every minute at first, and later at least every half hour; that of a verified domain every hour. A verified domain that points elsewhere three times in a row is not served any more. Of pages in several workspaces that declare one domain, the first that is verified holds it; for the others it stays `pending`, and `problem` says so.',
  answers: { 200: { description: 'The domain and its last check.', schema: domainView } },
});

const checkPageDomain = endpoint({
  method: 'POST',
  path: '/v1/status-pages/{id}/domain/check',
  access: 'write',
  tag: 'Status pages',
  summary: 'Check now where the custom domain of a page points',
  answers: { 200: { description: 'The domain and this check.', schema: domainView } },
});

/** Makes the endpoints of the custom domains of status pages. */
export function pageDomainEndpoints(parts: DomainParts): ServedEndpoint[] {
  const { store, domains } = parts;
  const view = async (domain: string, checked: CheckedDomain | null) =>
    ok(domainViewOf(domain, checked, await domains.servicePlace()));
  return [
    serve(pageDomain, async (request) => {
      const { id, declared } = await declaredDomain(parts, request);
      return view(declared, await checkedDomain(store, id));
    }),
    serve(checkPageDomain, async (request) => {
      const { id, declared } = await declaredDomain(parts, request);
      return view(declared, await domains.checkDomain(id, declared));
    }),
  ];
}

/**
 * Returns the custom domain of the page in the path.
 *
 * @throws Problem when the page does not exist, or has no custom domain
 */
async function declaredDomain(
  { reading }: DomainParts,
  request: Pick<ApiRequest, 'token' | 'ids'>,
): Promise<{ id: number; declared: string }> {
  const id = idOf(request);
  const page = await reading.findStored('status_pages', { workspaceId: workspaceOf(request) }, id, 'masked');
  if (page === null) throw new Problem('not-found', `there is no status page ${id}`);
  const { custom_domain: declared } = page.attributes;
  if (declared === null) throw new Problem('not-found', `status page ${id} has no custom domain`);
  return { id, declared };
}

function domainViewOf(
  domain: string,
  checked: CheckedDomain | null,
  { name, addresses }: ServicePlace,
): z.infer<typeof domainView> {
  return {
    domain,
    state: checked?.state ?? 'pending',
    problem: checked?.problem ?? null,
    points_to: { cname: name, addresses: [...addresses] },
    checked_at: instantTextOrNull(checked?.checkedAt),
    verified_at: instantTextOrNull(checked?.verifiedAt),
  };
}

export const pagePreview = endpoint({
  method: 'GET',
  path: '/v1/status-pages/{id}/preview',
  access: 'read',
  tag: 'Status pages',
  summary: 'Read a status page as its visitors see it',
  description:
    'Also a page that is not published, and one that needs a password: the token may read what it shows. Only the page itself is HTML here; what it links to is at its own address.',
  answers: { 200: { description: 'The page.', contentType: 'text/html; charset=utf-8' } },
});

export function pagePreviewEndpoints(parts: ApiParts): ServedEndpoint[] {
  const { reading, publicUrl } = parts;
  return [
    serve(pagePreview, async (request) => {
      const id = idOf(request);
      const page = await reading.findStored(
        'status_pages',
        { workspaceId: workspaceOf(request) },
        id,
        'masked',
      );
      if (page === null) throw new Problem('not-found', `there is no status page ${id}`);
      return ok(await previewOf(parts, page, publicUrl), pageHeaders());
    }),
  ];
}

/**
 * Makes the answer about a page.
 *
 * @param checked last check of the page's custom domain; null:
 *   the domain was not checked yet, or the page has none
 */
function pageView(stored: StoredPage, checked: CheckedDomain | null, guard: EgressGuard): object {
  const { published, theme, latency, attributes } = stored;
  const warnings = [...pageWarnings(attributes, guard), ...notServed(attributes.custom_domain, checked)];
  return resourceView(stored, { published, theme, latency, warnings });
}

function notServed(domain: string | null, checked: CheckedDomain | null): string[] {
  if (domain === null || (checked?.state === 'verified' && checked.problem === null)) return [];
  if (checked === null)
    return [`the page is not served under ${domain} yet: where it points was not checked yet`];
  if (checked.state === 'verified')
    return [`the page will not be served under ${domain} much longer: ${checked.problem}`];
  return [
    `the page is not served under ${domain}: ${checked.problem ?? 'it does not point to this service'}`,
  ];
}

const subscriberView = z
  .object({
    id: z.string(),
    address: z
      .string()
      .meta({ description: 'The e-mail address. Tokens of scope `read` see its domain only.' }),
    language: z.string().meta({ description: 'Language of the mails.' }),
    state: z.enum(['confirmed', 'held', 'stopped']).meta({
      description:
        '`held`: the address may not see the page any more, because since the subscription the page became private, or got another password or other mail domains. Nothing is sent to the address until it may see the page, or subscribes again. `stopped`: the address is dead, and nothing is sent to it any more.',
    }),
    problem: z.string().nullable().meta({ description: 'Why it is stopped.' }),
    confirmed_at: z.iso.datetime().nullable(),
  })
  .meta({
    examples: [
      {
        id: '7',
        address: 'ada@example.com',
        language: 'en',
        state: 'confirmed',
        problem: null,
        confirmed_at: '2026-11-22T14:03:00.000Z',
      },
    ],
  });

const pageSubscribers = endpoint({
  method: 'GET',
  path: '/v1/status-pages/{page_id}/subscribers',
  access: 'read',
  tag: 'Status pages',
  summary: 'List the subscribers of a page',
  query: offsetPage,
  answers: { 200: { description: 'A page of subscribers.', schema: listOf(subscriberView) } },
});

const removeSubscriber = endpoint({
  method: 'DELETE',
  path: '/v1/status-pages/{page_id}/subscribers/{id}',
  access: 'write',
  tag: 'Status pages',
  summary: 'Remove a subscriber, with its address and the mails that wait for it',
  answers: { 204: { description: 'The subscriber is removed.' } },
});

/**
 * Makes the endpoints for the subscribers of a status page. Subscribers get mails about
 * the incidents of the page. People subscribe on the page itself, not by these endpoints.
 */
export function subscriberEndpoints({
  store,
  reading,
  visitorKey,
}: Pick<ApiParts, 'store' | 'reading' | 'visitorKey'>): ServedEndpoint[] {
  const requirePage = async (request: Pick<ApiRequest, 'token' | 'ids'>): Promise<number> => {
    const id = idOf(request, 'page_id');
    if ((await existingResources(store, 'status_pages', workspaceOf(request), [id])).has(id)) return id;
    throw new Problem('not-found', `there is no status page ${id}`);
  };
  return [
    serve(pageSubscribers, async (request) => {
      const pageId = await requirePage(request);
      const { limit, offset } = request.query;
      const { rows, total } = await listSubscribers(store, pageId, { limit, offset });
      const shown = shownTo(request);
      const scope = { workspaceId: workspaceOf(request) };
      const page = await reading.findStored('status_pages', scope, pageId, 'open');
      const access = page === null ? null : declaredAccess(page);
      const isHeld = (row: Recipient) =>
        access !== null && !isEntitled({ id: pageId, access }, visitorKey, row);
      return ok({ data: rows.map((row) => subscriberViewOf(row, shown, isHeld(row))), total, limit, offset });
    }),
    serve(removeSubscriber, async (request) => {
      const pageId = await requirePage(request);
      const id = idOf(request);
      await store.transaction(async (tx) => {
        const removed = await removeRecipient(tx, { id, pageId });
        if (removed === null) throw new Problem('not-found', `status page ${pageId} has no subscriber ${id}`);
        await request.audit.writeLine(tx);
      });
      return NO_CONTENT;
    }),
  ];
}

function subscriberViewOf(
  { id, address, language, subscription, stoppedFor, confirmedAt }: Recipient,
  shown: SecretsShown,
  isHeld: boolean,
): z.infer<typeof subscriberView> {
  return {
    id: String(id),
    address: shown === 'open' ? address : address.replace(/^.*(?=@)/, MASK),
    language,
    state: subscription === 'stopped' ? 'stopped' : isHeld ? 'held' : 'confirmed',
    problem: stoppedFor,
    confirmed_at: instantTextOrNull(confirmedAt),
  };
}
