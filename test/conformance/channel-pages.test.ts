import { existsSync, readFileSync } from 'node:fs';
import type { StoredChannelOf } from '@svc/coordinator/notify/sender.ts';
import type { Alert } from '@svc/shared/channels/alert.ts';
import { CHANNEL_KINDS } from '@svc/shared/channels/settings.ts';
import { Secret } from '@svc/shared/secret.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loopbackSender, sendContext } from '../support/channel-sending.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import type { Case } from './channels/case.ts';
import { CASES } from './channels/cases.ts';

/** The alert of all pages. */
const SHOWN: Alert = {
  monitor: { id: 12, name: 'Shop', url: 'https://shop.example/health', type: 'http' },
  status: 'error',
  cronTimestamp: Date.UTC(2026, 0, 1),
  statusCode: 503,
  latency: 123.4,
  degradedAt: 800,
  errorMessage: 'expected a status code from 200 to 299, saw 503',
  at: Date.UTC(2026, 0, 1, 0, 0, 1),
  since: Date.UTC(2026, 0, 1, 0, 0, 1),
  reason: 'majority-failed',
  incident: '5f0c2a9be1d74836:12:7d9f3c52-0b1e-4a86-9c3d-2f6f0e8a1b47',
  regions: [
    { region: 'hosta-fra', outcome: 'failed' },
    { region: 'hostb-par', outcome: 'failed' },
    { region: 'hostc-us-east4', outcome: 'passed' },
  ],
};

let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

const pageOf = (kind: string) => new URL(`../../docs/channels/${kind}.md`, import.meta.url);
const SHOWING = CHANNEL_KINDS.filter(
  (kind) => kind in CASES && existsSync(pageOf(kind)),
) as (keyof typeof CASES)[];

describe.each(SHOWING)('the page of %s', showsWhatIsSent);

function showsWhatIsSent<K extends keyof typeof CASES>(kind: K): void {
  const { settings, operator, taken = 200, takenBody }: Case<K> = CASES[kind];

  test('shows what is sent', async () => {
    receiver.answerWith((_request, response) => response.writeHead(taken).end(takenBody));
    const channel: StoredChannelOf<K> = { kind, settings: new Secret(settings(receiver.url)) };
    await loopbackSender(operator?.(receiver.url))(channel, SHOWN, sendContext());
    const [request] = await receiver.received(1);
    const page = readFileSync(pageOf(kind), 'utf8');
    const [, shown = ''] = /^## What is sent$[^]*?^```json\n([^]*?)^```$/m.exec(page) ?? [];
    expect(JSON.parse(shown), JSON.stringify(request?.json, null, 2)).toEqual(request?.json);
  });
}
