import type { ApiMethods } from '@grammyjs/types';
import { Secret } from '@svc/shared/secret.ts';
import type { Case } from './case.ts';
import { COMMON_VERDICTS } from './verdicts.ts';

const TOKEN = '123456:bot-s3cret-token';

/** A text in Telegram's subset of HTML. */
export const messengerACase: Case<'messenger_a'> = {
  settings: () => ({ chat_id: '-1001234567890' }),
  operator: (url) => ({ telegramBotToken: new Secret(TOKEN), telegramBaseUrl: `${url}/` }),
  secrets: [TOKEN, 'bot-s3cret-token'],
  path: `/bot${TOKEN}/sendMessage`,
  payload: {
    chat_id: -1001234567890,
    text: [
      '<b>Error: Shop "größte" \u{1F6D2}</b>',
      '<b>Problem:</b> status code 503, expected 200',
      '<b>Status code:</b> 503',
      '<b>Latency:</b> 123.4 ms',
      '<b>HTTP target:</b> <code>https://shop.example/health?…</code>',
      '<b>Regions:</b> 1 of 1 (hosta-fra)',
      '<b>Failing since:</b> 2026-01-01 00:00:01 UTC',
      '<a href="https://svc.example/monitors/12/incident">https://svc.example/monitors/12/incident</a>',
    ].join('\n'),
    parse_mode: 'HTML',
    link_preview_options: { is_disabled: true },
  } satisfies Parameters<ApiMethods<never>['sendMessage']>[0],
  // 401 and 404 are about the operator's token, and 403 may be temporary.
  verdicts: { ...COMMON_VERDICTS, 200: 'retry', 401: 'retry', 403: 'retry', 404: 'retry' },
  takenBody: JSON.stringify({ ok: true, result: { message_id: 7 } }),
};
