import type { Case } from './case.ts';
import { COMMON_VERDICTS } from './verdicts.ts';

const widget = (topLabel: string, text: string) => ({ decoratedText: { topLabel, text, wrapText: true } });

/** A card in the thread of the incident. */
export const chatCCase: Case<'chat_c'> = {
  settings: (url) => ({
    webhook_url: `${url}/v1/spaces/AAAA/messages?key=query-s3cret&token=token-s3cret%3D`,
  }),
  secrets: ['query-s3cret', 'token-s3cret'],
  path:
    '/v1/spaces/AAAA/messages?key=query-s3cret&token=token-s3cret%3D' +
    '&messageReplyOption=REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD&requestId=c0ffee00-0000-4000-8000-000000000001',
  payload: {
    fallbackText: 'Error: Shop "größte" \u{1F6D2}',
    cardsV2: [
      {
        cardId: 'alert',
        card: {
          sections: [
            {
              widgets: [
                {
                  textParagraph: {
                    text: '<font color="#d92d20"><b>Error: Shop "größte" \u{1F6D2}</b></font>',
                  },
                },
                widget('Problem', 'status code 503, expected 200'),
                widget('Status code', '503'),
                widget('Latency', '123.4 ms'),
                widget('HTTP target', 'https://shop.example/health?…'),
                widget('Regions', '1 of 1 (hosta-fra)'),
                widget('Failing since', '2026-01-01 00:00:01 UTC'),
                {
                  buttonList: {
                    buttons: [
                      {
                        text: 'Open the incident',
                        onClick: { openLink: { url: 'https://svc.example/monitors/12/incident' } },
                      },
                    ],
                  },
                },
              ],
            },
          ],
        },
      },
    ],
    thread: { threadKey: '0b3c:12:1767225600000' },
  },
  verdicts: { ...COMMON_VERDICTS, 200: 'delivered' },
};
