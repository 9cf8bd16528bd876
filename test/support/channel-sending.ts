import type { SendContext } from '@svc/coordinator/alerts/channel.ts';
import { urlRules } from '@svc/coordinator/alerts/declared-urls.ts';
import {
  createSender,
  type OperatorValues,
  type Send,
  type SenderParts,
} from '@svc/coordinator/alerts/sender.ts';
import { createHttpPost, type HttpPost } from '@svc/coordinator/outgoing/http-post.ts';
import { createSendMail } from '@svc/coordinator/outgoing/smtp/mail.ts';
import type { Alert } from '@svc/shared/channels/alert.ts';
import type { Region } from '@svc/shared/regions.ts';
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
    kept: null,
  };
}

/** Rules that let all kinds of channel post to loopback, the kinds with `SVC_CHAT_HOSTS` too. */
const LOOPBACK_URLS = urlRules({ channelEgressAllow: ['127.0.0.1'], chatHosts: ['127.0.0.1'] });

/** The parts of a sender, for tests that need only some of them. */
export function loopbackParts(parts: Partial<SenderParts> = {}): SenderParts {
  const post = parts.post ?? loopbackPost();
  const sendMail = createSendMail({ clock: new FakeClock() });
  const regionText = (region: Region) => region;
  const given = { post, operatorPost: post, sendMail, urls: LOOPBACK_URLS, regionText };
  return { ...given, publicUrl: PUBLIC_URL, operator: {}, ...parts };
}

/** Sends as in production, to receivers on loopback. */
export function loopbackSender(operator: OperatorValues = {}): Send {
  return createSender(loopbackParts({ operator }));
}

function loopbackPost(): HttpPost {
  return createHttpPost({ clock: new FakeClock(), guard: LOOPBACK_URLS.guard });
}
