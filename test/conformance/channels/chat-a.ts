import type { RESTPostAPIWebhookWithTokenJSONBody } from 'discord-api-types/v10';
import type { Case } from './case.ts';
import { COMMON_VERDICTS } from './verdicts.ts';

const PATH = '/api/webhooks/1234/path-s3cret-token';

/** One embed, whose texts are escaped for Discord's Markdown. */
export const chatACase: Case<'chat_a'> = {
  settings: (url) => ({ webhook_url: `${url}${PATH}` }),
  secrets: ['path-s3cret-token'],
  path: `${PATH}?wait=true`,
  payload: {
    embeds: [
      {
        title: 'Error: Shop "größte" \u{1F6D2}',
        description: [
          '**Problem:** status code 503, expected 200',
          '**Status code:** 503',
          '**Latency:** 123.4 ms',
          '**HTTP target:** `https://shop.example/health?…`',
          '**Regions:** 1 of 1 (hosta-fra)',
          '**Failing since:** 2026-01-01 00:00:01 UTC',
        ].join('\n'),
        url: 'https://svc.example/monitors/12/incident',
        color: 0xd92d20,
        timestamp: '2026-01-01T00:00:01.234Z',
      },
    ],
    allowed_mentions: { parse: [] },
  } satisfies RESTPostAPIWebhookWithTokenJSONBody,
  // A 403 without Discord's own body comes from a proxy in front of it.
  verdicts: { ...COMMON_VERDICTS, 200: 'delivered', 201: 'retry', 204: 'retry', 403: 'retry' },
};
