import { z } from 'zod';
import type { ServicePlace } from '../../pages/domains/pointing.ts';
import { type CheckedDomain, checkedDomain } from '../../store/page-domains.ts';
import type { ApiParts } from '../api-parts.ts';
import { type ApiRequest, endpoint, idOf, ok, type ServedEndpoint, serve, workspaceOf } from '../endpoint.ts';
import { Problem } from '../problem.ts';

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
    'The DNS is checked every minute while something is missing, and every hour after that. A verified domain that points elsewhere three times in a row is not served any more. Of pages in several workspaces that declare one domain, the first that is verified holds it; for the others it stays `pending`, and `problem` says so.',
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

/** Where the custom domains of status pages point. */
export function pageDomainEndpoints(parts: DomainParts): ServedEndpoint[] {
  const { store, domains } = parts;
  const view = async (domain: string, checked: CheckedDomain | null) =>
    ok(viewOf(domain, checked, await domains.service()));
  return [
    serve(pageDomain, async (request) => {
      const { id, declared } = await declaredDomain(parts, request);
      return view(declared, await checkedDomain(store, id));
    }),
    serve(checkPageDomain, async (request) => {
      const { id, declared } = await declaredDomain(parts, request);
      return view(declared, await domains.check(id, declared));
    }),
  ];
}

/** @throws Problem when there is no such page, or it has no domain of its own */
async function declaredDomain(
  { reading }: DomainParts,
  request: Pick<ApiRequest, 'token' | 'ids'>,
): Promise<{ id: number; declared: string }> {
  const id = idOf(request);
  const page = await reading.find('status_pages', { workspaceId: workspaceOf(request) }, id, 'masked');
  if (page === null) throw new Problem('not-found', `there is no status page ${id}`);
  const { custom_domain: declared } = page.attributes;
  if (declared === null) throw new Problem('not-found', `status page ${id} has no custom domain`);
  return { id, declared };
}

function viewOf(
  domain: string,
  checked: CheckedDomain | null,
  { name, addresses }: ServicePlace,
): z.infer<typeof domainView> {
  return {
    domain,
    state: checked?.state ?? 'pending',
    problem: checked?.problem ?? null,
    points_to: { cname: name, addresses: [...addresses] },
    checked_at: instant(checked?.checkedAt),
    verified_at: instant(checked?.verifiedAt),
  };
}

function instant(at: number | null | undefined): string | null {
  return at === null || at === undefined ? null : new Date(at).toISOString();
}
