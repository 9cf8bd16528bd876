import { z } from 'zod';
import { OneTimeLinks } from '../../web/one-time-links.ts';
import type { ApiParts } from '../api-parts.ts';
import { endpoint, type ServedEndpoint, serve } from '../endpoint.ts';
import { RateLimit, tooMany } from '../rate-limit.ts';

/** Life of a link, ms. */
const LINK_LIFE_MS = 15 * 60_000;
/** Links of one token: ten at once, and ten a minute. Each is a row and a line of the audit trail. */
const LINK_RATE = { perSecond: 10 / 60, atOnce: 10 };

const loginLinkView = z
  .object({
    url: z.url().meta({ description: 'Address of the dashboard. It works once.' }),
    expires_at: z.iso.datetime(),
  })
  .meta({
    examples: [
      {
        url: 'https://svc.example.com/login?link=0FZ3p0nVYQ0xSgGFhI9mYjB4S0rX5mXo1fM0m5mCz7E',
        expires_at: '2026-11-22T14:18:00.000Z',
      },
    ],
  });

/** What a link of the dashboard's login allows, for {@link OneTimeLinks}. */
function loginPurpose(tokenId: number): string {
  return `login:${tokenId}`;
}

/** The id of the token whose session a link opens; null: the link is for something else. */
export function tokenOfPurpose(purpose: string): number | null {
  const id = /^login:(\d+)$/.exec(purpose)?.[1];
  return id === undefined ? null : Number(id);
}

const createLoginLink = endpoint({
  method: 'POST',
  path: '/v1/login-links',
  access: 'read',
  tag: 'Tokens',
  summary: 'Create a link that logs a browser in to the dashboard',
  description:
    'The session can do what the token of this request can, and ends with it. The link works once, within 15 minutes. A token may make ten a minute.',
  answers: { 201: { description: 'Created. Only this answer has the link.', schema: loginLinkView } },
});

export function loginLinkEndpoints({
  store,
  clock,
  publicUrl,
}: Pick<ApiParts, 'store' | 'clock' | 'publicUrl'>): ServedEndpoint[] {
  const links = new OneTimeLinks({ store, clock });
  const limit = new RateLimit<number>(LINK_RATE);
  return [
    serve(createLoginLink, async ({ token, audit }) => {
      if (token === null) throw new TypeError('the endpoint has a token');
      const seconds = limit.take(token.id, clock.monotonic());
      if (seconds > 0) throw tooMany('this token made too many login links', seconds);
      // Who has a link is let in as the token: the trail has it, beside the login.
      const secret = await links.create(loginPurpose(token.id), {
        lifeMs: LINK_LIFE_MS,
        also: (tx) => audit.write(tx),
      });
      const body: z.infer<typeof loginLinkView> = {
        url: `${publicUrl.replace(/\/$/, '')}/login?link=${secret}`,
        expires_at: new Date(clock.wall() + LINK_LIFE_MS).toISOString(),
      };
      return { status: 201, body };
    }),
  ];
}
