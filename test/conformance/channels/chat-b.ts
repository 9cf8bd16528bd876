import type { MessageAttachment } from '@slack/types';
import type { Case } from './case.ts';
import { COMMON_VERDICTS } from './verdicts.ts';

const PATH = '/services/T0001234/B0001234/path-s3cret-token';

/** One line for notifications, and the facts next to a coloured bar. */
export const chatBCase: Case<'chat_b'> = {
  settings: (url) => ({ webhook_url: `${url}${PATH}` }),
  secrets: ['path-s3cret-token'],
  path: PATH,
  payload: {
    text: '<https://svc.example/monitors/12/incident|Error: Shop "größte" \u{1F6D2}>',
    attachments: [
      {
        color: '#d92d20',
        blocks: [
          {
            type: 'section',
            text: {
              type: 'mrkdwn',
              text: [
                '*Problem:* status code 503, expected 200',
                '*Status code:* 503',
                '*Latency:* 123.4 ms',
                '*HTTP target:* `https://shop.example/health?…`',
                '*Regions:* 1 of 1 (hosta-fra)',
                '*Failing since:* 2026-01-01 00:00:01 UTC',
              ].join('\n'),
              verbatim: true,
            },
          },
        ],
      },
    ],
  } satisfies { text: string; attachments: MessageAttachment[] },
  // Only `ok` is a success.
  verdicts: { ...COMMON_VERDICTS, 200: 'retry', 204: 'retry' },
  takenBody: 'ok',
};
