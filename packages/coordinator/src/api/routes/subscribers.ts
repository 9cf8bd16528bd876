import { MASK } from '@svc/shared/secret.ts';
import { z } from 'zod';
import type { SecretsShown } from '../../declaration/stored.ts';
import { declaredAccess, isEntitled } from '../../pages/access/credential.ts';
import { existingResources } from '../../store/declaration/resources.ts';
import { listSubscribers, type Recipient, removeRecipient } from '../../store/pages/page-recipients.ts';
import type { ApiParts } from '../api-parts.ts';
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
import { shownTo } from '../objects.ts';
import { Problem } from '../problem.ts';

const subscriberView = z
  .object({
    id: z.string(),
    address: z
      .string()
      .meta({ description: 'The e-mail address. Tokens of scope `read` see its domain only.' }),
    language: z.string().meta({ description: 'Language of the mails.' }),
    state: z.enum(['confirmed', 'held', 'stopped']).meta({
      description:
        '`held`: the address may not see the page any more, because the page became private or has another password or other mail domains since it subscribed. Nothing is sent to it, until it may, or subscribes again. `stopped`: the address is dead, and nothing is sent to it any more.',
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

/** The people who get the news of a status page by mail. They subscribe on the page itself. */
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
      const page = await reading.find('status_pages', scope, pageId, 'open');
      const access = page === null ? null : declaredAccess(page);
      const isHeld = (row: Recipient) =>
        access !== null && !isEntitled({ id: pageId, access }, visitorKey, row);
      return ok({ data: rows.map((row) => viewOf(row, shown, isHeld(row))), total, limit, offset });
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

function viewOf(
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
    confirmed_at: confirmedAt === null ? null : new Date(confirmedAt).toISOString(),
  };
}
