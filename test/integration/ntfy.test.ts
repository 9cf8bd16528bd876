import type { SendResult } from '@svc/coordinator/alerts/channel.ts';
import { contentOf } from '@svc/coordinator/alerts/content.ts';
import type { Alert } from '@svc/shared/channels/alert.ts';
import type { ChannelSettings } from '@svc/shared/channels/settings.ts';
import { Secret } from '@svc/shared/secret.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FULL_ALERT, loopbackSender, PUBLIC_URL, sendContext } from '../support/channel-sending.ts';
import { findProgram } from '../support/real-dns-server.ts';
import { type RealNtfy, startNtfy } from '../support/real-ntfy.ts';

const program = findProgram('ntfy');
if (program === null) console.warn('skipped: ntfy is not installed');

describe.skipIf(program === null)('a real ntfy server', () => {
  let ntfy: RealNtfy;
  beforeAll(async () => {
    ntfy = await startNtfy(program ?? '');
  });
  afterAll(() => ntfy.stop());

  function send(
    settings: Partial<ChannelSettings['push_a']>,
    alert: Alert = FULL_ALERT,
  ): Promise<SendResult> {
    const all = { topic: 'open', server_url: ntfy.url, token: null, ...settings };
    const channel = { kind: 'push_a', settings: new Secret(all) } as const;
    return loopbackSender({ pushABaseUrl: ntfy.url })(channel, alert, sendContext());
  }

  test.each([
    ['error', 5, 'rotating_light'],
    ['degraded', 4, 'warning'],
    ['recovered', 3, 'white_check_mark'],
  ] as const)('%s: with a token, as people see it', async (status, priority, tag) => {
    const topic = `guarded-${status}`;
    const alert = { ...FULL_ALERT, status };
    expect(await send({ topic, token: ntfy.token }, alert)).toMatchObject({
      outcome: 'delivered',
      statusCode: 200,
    });
    const { title, facts, link } = contentOf(alert, PUBLIC_URL);
    const message = facts.map(({ label, text }) => `${label}: ${text}`).join('\n');
    expect(await ntfy.messages(topic)).toMatchObject([
      { title, message, priority, tags: [tag], click: link },
    ]);
  });

  test('without a token, to an open topic and to the default server', async () => {
    expect(await send({ topic: 'open-a', server_url: null })).toMatchObject({ outcome: 'delivered' });
    expect(await ntfy.messages('open-a')).toHaveLength(1);
  });

  test.each([
    ['no token', { topic: 'guarded' }, 403],
    ['a wrong token', { topic: 'guarded', token: 'tk_s3cret0000000000000000000000' }, 401],
  ])('%s where a token is needed stops the channel', async (_, settings, statusCode) => {
    const result = await send(settings);
    expect(result).toMatchObject({ outcome: 'permanent-channel', statusCode });
    expect(JSON.stringify(result)).not.toContain('s3cret');
  });

  test.each(['x', '"\\', '<&>', '\u{1F468}\u200D\u{1F469}\u200D\u{1F467}', 'e\u0301\u0323'])(
    'texts of %j at their longest arrive as one message, not as an attachment',
    async (unit) => {
      const filled = (codePoints: number) => [...unit.repeat(codePoints)].slice(0, codePoints).join('');
      const topic = `open-long-${Buffer.from(unit).toString('hex').slice(0, 20)}`;
      const alert: Alert = {
        ...FULL_ALERT,
        monitor: { ...FULL_ALERT.monitor, name: filled(256), url: `https://x.example/${filled(2_030)}` },
        errorMessage: filled(500).slice(0, 500).toWellFormed(),
      };
      expect(await send({ topic }, alert)).toMatchObject({ outcome: 'delivered' });
      const [message, ...more] = await ntfy.messages(topic);
      expect(more).toEqual([]);
      expect(message?.message).toContain('Status code: 503');
      expect(message).not.toHaveProperty('attachment');
    },
  );
});
