import type { Secret } from '@svc/shared/secret.ts';
import type { SettingsTable } from '@svc/shared/settings/environment.ts';
import { urlOf } from '@svc/shared/settings/setting-schemas.ts';
import { basicAuthorization } from '@svc/shared/url-secrets.ts';
import { VERSION } from '@svc/shared/version.ts';
import { z } from 'zod';
import type { HttpPost, PostResult } from '../outgoing/http-post.ts';
import type { SendResult } from './channel.ts';
import { apiUrl, jsonOf, judgedByApi, passing, refused } from './vendor-api.ts';

/* Twilio's Programmable Messaging (twilio.com/docs, read on 2026-11-21). */

/** The operator's settings for the kinds of channels that use Twilio. */
export const TWILIO_SETTINGS = {
  twilioAccountSid: {
    name: 'SVC_TWILIO_ACCOUNT_SID',
    description: 'account at Twilio for sms and messenger_b channels: AC and 32 hexadecimal digits',
    schema: z
      .string()
      .regex(/^AC[0-9a-f]{32}$/, 'must be AC and 32 hexadecimal digits')
      .optional(),
  },
  twilioAuthToken: {
    name: 'SVC_TWILIO_AUTH_TOKEN',
    description: 'auth token of that account',
    schema: z
      .string()
      .regex(/^[\u0021-\u007e]+$/, 'must be printable ASCII characters without spaces')
      .optional(),
  },
  twilioBaseUrl: {
    name: 'SVC_TWILIO_BASE_URL',
    description: "base URL of Twilio's API",
    default: 'https://api.twilio.com',
    schema: urlOf(['https:', 'http:']),
  },
} as const satisfies SettingsTable;

export type TwilioAccount = {
  readonly twilioAccountSid: string;
  readonly twilioAuthToken: Secret;
  readonly twilioBaseUrl: string;
};

/** SID of a messaging service of Twilio, which chooses the sender itself. */
const MESSAGING_SERVICE = /^MG[0-9a-f]{32}$/;

/**
 * Time after which Twilio drops a message that is still queued, s. An
 * alert that arrives hours later misleads. Twilio's default is 10 h.
 */
const VALIDITY_S = '3600';

export type TwilioMessage = {
  readonly to: string;
  /**
   * A number, a short code, a name, or the SID of a messaging service. For
   * WhatsApp, a number with `whatsapp:` before it, or the SID.
   */
  readonly from: string;
  /** `Body`, or `ContentSid` with `ContentVariables`. */
  readonly content: Readonly<Record<string, string>>;
};

/** Makes one attempt to queue a message at Twilio. The message may still fail on its way to the phone. */
export async function sendByTwilio(
  message: TwilioMessage,
  account: TwilioAccount,
  { post, signal }: { readonly post: HttpPost; readonly signal: AbortSignal },
): Promise<SendResult> {
  const { twilioAccountSid: user, twilioAuthToken, twilioBaseUrl } = account;
  const password = twilioAuthToken.reveal();
  const authorization = basicAuthorization({ user, password });
  const result = await post({
    url: apiUrl(twilioBaseUrl, `/2010-04-01/Accounts/${user}/Messages.json`),
    headers: [
      ['authorization', authorization],
      ['content-type', 'application/x-www-form-urlencoded'],
      ['user-agent', `svc/${VERSION}`],
    ],
    body: formOf(message),
    secrets: [password, authorization],
    signal,
  });
  return judgedByTwilio(result);
}

function formOf({ to, from, content }: TwilioMessage): string {
  const sender = MESSAGING_SERVICE.test(from) ? { MessagingServiceSid: from } : { From: from };
  return new URLSearchParams({ To: to, ...sender, ...content, ValidityPeriod: VALIDITY_S }).toString();
}

/**
 * Twilio's error codes about the recipient: an invalid number, a short code, a region that
 * is not enabled, an opt-out, no mobile number, a landline, a number without WhatsApp.
 */
const RECIPIENT_AT_FAULT: ReadonlySet<number> = new Set([21211, 21265, 21408, 21610, 21614, 21635, 63003]);

/**
 * Twilio's error codes about the operator's settings: credentials, an account
 * that is not active, a trial, the sender, a template or its variables.
 */
const OPERATOR_AT_FAULT: ReadonlySet<number> = new Set([
  20003, 20005, 20404, 21212, 21603, 21606, 21608, 21655, 21656, 21659, 21660, 21661, 63007, 63028,
]);

const error = z.object({ code: z.number() });

function judgedByTwilio(result: PostResult): SendResult {
  return judgedByApi(result, 201, (reply) => {
    // Twilio's codes have a meaning only with a status 4xx.
    if (reply.statusCode < 400 || reply.statusCode > 499) return null;
    const code = error.safeParse(jsonOf(reply)).data?.code ?? null;
    // 20429: too many requests.
    if (code === 20429) return passing(reply);
    if (code !== null && RECIPIENT_AT_FAULT.has(code)) return refused('permanent-channel', reply);
    if (code !== null && OPERATOR_AT_FAULT.has(code)) return passing(reply, { reason: 'operator' });
    return null;
  });
}
