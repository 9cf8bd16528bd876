import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { Site } from '../../web/site.ts';
import type { PageDomains } from './domains.ts';

/** Where a proxy asks before it gets a certificate on demand: `/custom-domains/ask?domain=status.example.com`. */
const PATH = '/custom-domains/ask';

/**
 * Answers a proxy whether a page is served under a domain: 200, otherwise 404. Caddy calls this `ask`. Without it
 * anybody could make the proxy get certificates for any name.
 */
export function createAskSite({
  domains,
  log,
}: {
  readonly domains: PageDomains;
  readonly log: Logger;
}): Site {
  return {
    async answer({ url, method, isOwnHost }) {
      if (!isOwnHost || method !== 'GET' || url.pathname !== PATH) return null;
      const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' };
      try {
        const found = await domains.find(url.searchParams.get('domain') ?? '');
        const text =
          found === null ? 'No page is served under this domain.\n' : 'A page is served under this domain.\n';
        return new Response(text, { status: found === null ? 404 : 200, headers });
      } catch (error) {
        log.error({ error: messageOf(error) }, 'a proxy asked for a custom domain, and svc cannot answer');
        return new Response('svc cannot answer now.\n', { status: 503, headers });
      }
    },
  };
}
