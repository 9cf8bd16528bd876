import { Secret } from '@svc/shared/secret.ts';
import { describe, expect, test } from 'vitest';
import { FULL_ALERT, loopbackParts, sendContext } from '../../../../../test/support/channel-sending.ts';
import type { MailResult, MailStage } from '../../outgoing/smtp/mail-result.ts';
import { parseSmtpRelay } from '../../outgoing/smtp/relay.ts';
import type { SendContext, SendResult } from '../channel.ts';
import { createSender } from '../sender.ts';
import { email } from './email.ts';

/*
 * Tests what each answer of a relay means for the alert and for the
 * channel. The SMTP dialogue is tested in `test/conformance/mail.test.ts`.
 */

const CHANNEL = { kind: 'email', settings: new Secret({ email: 'ops@grüße.example' }) } as const;
const OPERATOR = {
  smtpUrl: new Secret(parseSmtpRelay('smtp://user:s3cret@relay.example')),
  mailFrom: { name: 'svc', address: 'svc@grüße.example' },
};

type Asked = { readonly from: string; readonly to: string; readonly message: Buffer };

async function judged(
  result: MailResult,
  { alert = FULL_ALERT, context = sendContext() }: { alert?: typeof FULL_ALERT; context?: SendContext } = {},
): Promise<{ verdict: SendResult; asked: Asked[] }> {
  const asked: Asked[] = [];
  const sendMail = async (mail: Asked) => {
    asked.push(mail);
    return result;
  };
  const verdict = await createSender(loopbackParts({ sendMail, operator: OPERATOR }))(
    CHANNEL,
    alert,
    context,
  );
  return { verdict, asked };
}

describe('a relay that neither accepts nor refuses the mail', () => {
  test.each([
    ['no-connection-free', 'not-sent', 'own'],
    ['too-large', 'permanent-message', 'refused'],
    ['invalid-envelope', 'permanent-channel', 'refused'],
    ['unresolved', 'retry', 'unreachable'],
    ['unreachable', 'retry', 'unreachable'],
    ['certificate', 'retry', 'unreachable'],
    ['timeout', 'retry', 'unanswered'],
    ['aborted', 'retry', 'unanswered'],
    ['broken', 'retry', 'unanswered'],
  ] as const)('%s: %s, %s', async (failure, outcome, reason) => {
    const { verdict } = await judged({ kind: 'unanswered', failure, error: 'as the test says' });
    expect(verdict).toEqual({ outcome, reason, error: 'as the test says' });
  });
});

describe('a relay that refuses', () => {
  test.each<[MailStage, code: number, enhanced: string | null, outcome: string, reason: string]>([
    ['connection', 421, null, 'retry', 'receiver'],
    ['recipient', 450, '4.2.1', 'retry', 'receiver'],
    ['message', 499, null, 'retry', 'receiver'],
    ['connection', 500, null, 'retry', 'operator'],
    ['connection', 554, '5.7.1', 'retry', 'operator'],
    ['login', 535, '5.7.8', 'retry', 'operator'],
    ['sender', 550, '5.1.1', 'retry', 'operator'],
    ['recipient', 530, '5.7.0', 'retry', 'operator'],
    ['recipient', 503, null, 'retry', 'operator'],
    ['message', 538, null, 'retry', 'operator'],
    // By their codes of RFC 3463, these refusals are not about the recipient.
    ['recipient', 550, '5.1.7', 'retry', 'operator'],
    ['recipient', 550, '5.1.8', 'retry', 'operator'],
    ['recipient', 554, '5.3.2', 'retry', 'operator'],
    ['recipient', 554, '5.5.4', 'retry', 'operator'],
    ['recipient', 554, '5.7.26', 'retry', 'operator'],
    // These refusals count as refusals of the recipient.
    ['recipient', 550, null, 'permanent-channel', 'refused'],
    ['recipient', 550, '5.1.1', 'permanent-channel', 'refused'],
    ['recipient', 554, '5.5.5', 'permanent-channel', 'refused'],
    ['recipient', 552, '5.2.3', 'permanent-message', 'refused'],
    ['recipient', 550, '5.2.2', 'permanent-message', 'refused'],
    ['recipient', 552, '5.3.4', 'permanent-message', 'refused'],
    // After the message was transferred, only a code 5.1.x shows that the address is dead.
    ['message', 550, '5.1.1', 'permanent-channel', 'refused'],
    ['message', 550, null, 'permanent-message', 'refused'],
    ['message', 554, '5.7.1', 'permanent-message', 'refused'],
  ])('%s with %i %s: %s, %s', async (stage, code, enhanced, outcome, reason) => {
    const { verdict } = await judged({ kind: 'refused', stage, code, enhanced, error: 'no' });
    expect(verdict).toEqual({ outcome, reason, error: 'no', statusCode: code });
  });

  test.each([
    ['550 relaying denied', 'retry'],
    ['550 Relay not permitted', 'retry'],
    ['554 client host [192.0.2.1] rejected: no reverse name', 'retry'],
    ['550 helo command rejected: need a name', 'retry'],
    ['550 sender address rejected: unknown', 'retry'],
    ['550 Sender verify failed', 'retry'],
    ['550 192.0.2.1 is listed at bl.example', 'retry'],
    ['550 blocked using bl.example', 'retry'],
    ['550 no such user here', 'permanent-channel'],
    ['550 mailbox of the relay team is gone', 'permanent-channel'],
    ['550 user blocked', 'permanent-channel'],
  ])('at the recipient, in words only: %s', async (error, outcome) => {
    const refusal = { kind: 'refused', stage: 'recipient', code: 550, enhanced: null, error } as const;
    expect((await judged(refusal)).verdict.outcome).toBe(outcome);
    // After the message was transferred, the same words are about the message.
    const ofMessage = await judged({ ...refusal, stage: 'message' });
    expect(ofMessage.verdict.outcome).toBe('permanent-message');
  });
});

describe('a mail that the relay takes', () => {
  const accepted = { kind: 'accepted' } as const;

  test('goes out with addresses that every server understands', async () => {
    const { asked, verdict } = await judged(accepted);
    expect(asked).toMatchObject([{ from: 'svc@xn--gre-6ka8l.example', to: 'ops@xn--gre-6ka8l.example' }]);
    expect(verdict).toEqual({ outcome: 'delivered', statusCode: 250 });
  });
});

describe('the sender that the operator sets', () => {
  const schema = email.operatorSettings.mailFrom.schema;

  test.each([
    ['svc@example.com', { name: '', address: 'svc@example.com' }],
    ['svc <svc@example.com>', { name: 'svc', address: 'svc@example.com' }],
    ['  "svc, alerts" <svc@example.com> ', { name: 'svc, alerts', address: 'svc@example.com' }],
    ['<svc@example.com>', { name: '', address: 'svc@example.com' }],
  ])('%s', (text, sender) => {
    expect(schema.parse(text)).toEqual(sender);
  });

  test.each(['', 'svc', 'svc <svc>', 'svc svc@example.com', 'a\r\nBcc: b@example.com <svc@example.com>'])(
    '%j is refused, and the message says what it must be',
    (text) => {
      const parsed = schema.safeParse(text);
      expect(parsed.error?.issues.map(({ message }) => message)).toEqual([
        'must be an e-mail address, or a name with one: svc <svc@example.com>',
      ]);
    },
  );
});
