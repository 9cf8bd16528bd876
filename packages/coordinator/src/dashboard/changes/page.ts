import { Problem } from '../../api/problem.ts';
import type { DashboardPage } from '../page.ts';
import type { ChangeFeed } from './change-feed.ts';

/** The stream of changes that `live.js` listens to. */
export function changesPage(changes: ChangeFeed): DashboardPage {
  return {
    method: 'GET',
    path: '/events',
    scope: 'read',
    async handle({ token, isSessionOpen, signal }) {
      const stream = changes.listen({ tokenId: token.id, isOpen: isSessionOpen }, signal);
      if (stream === null) {
        throw new Problem('unavailable', 'Too many pages listen already.', {
          headers: { 'retry-after': '30' },
        });
      }
      const headers = {
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      };
      return { response: new Response(stream, { headers }) };
    },
  };
}
