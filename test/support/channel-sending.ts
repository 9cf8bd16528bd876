import type { SendContext } from '@svc/coordinator/notify/channel.ts';
import {
  createSender,
  type OperatorValues,
  type Send,
  type SenderParts,
} from '@svc/coordinator/notify/sender.ts';
import { createHttpPost, type HttpPost } from '@svc/coordinator/outgoing/http-post.ts';
import { createSendMail } from '@svc/coordinator/outgoing/smtp/mail.ts';
import type { Alert } from '@svc/shared/channels/alert.ts';
import { createEgressGuard } from '@svc/shared/egress.ts';
import { FakeClock } from './fake-clock.ts';

/** `SVC_PUBLIC_URL` of {@link loopbackParts}. */
export const PUBLIC_URL = 'https://svc.example';

/** An alert with every member that a check can have, and texts that need care. */
export const FULL_ALERT: Alert = {
  monitor: {
    id: 12,
    name: 'Shop "größte" \u{1F6D2}',
    url: 'https://shop.example/health?a=1&b=2',
    type: 'http',
  },
  status: 'error',
  cronTimestamp: 1_767_225_600_000,
  statusCode: 503,
  latency: 123.4,
  errorMessage: 'status code 503, expected 200',
  at: 1_767_225_601_234,
  reason: 'majority-failed',
  incident: '0b3c:12:1767225600000',
  regions: [{ region: 'hosta-fra', outcome: 'failed' }],
};

export function sendContext(signal = new AbortController().signal): SendContext {
  return {
    deliveryId: 'c0ffee00-0000-4000-8000-000000000001',
    attemptAt: 1_767_225_602_999,
    signal,
    thread: null,
  };
}

/** What a sender is made of, where only some parts matter. */
export function loopbackParts(parts: Partial<SenderParts> = {}): SenderParts {
  const post = parts.post ?? loopbackPost();
  const sendMail = createSendMail({ clock: new FakeClock() });
  return { post, operatorPost: post, sendMail, publicUrl: PUBLIC_URL, operator: {}, ...parts };
}

/** As production sends, to receivers on loopback. */
export function loopbackSender(operator: OperatorValues = {}): Send {
  return createSender(loopbackParts({ operator }));
}

function loopbackPost(): HttpPost {
  const guard = createEgressGuard({ base: 'channel', deny: [], allow: ['127.0.0.1'] });
  return createHttpPost({ clock: new FakeClock(), guard });
}
