import type { StoredChannelOf } from '@svc/coordinator/alerts/sender.ts';
import type { Alert } from '@svc/shared/channels/alert.ts';
import { CHANNEL_KINDS, type ChannelKind } from '@svc/shared/channels/settings.ts';
import { Secret } from '@svc/shared/secret.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { FULL_ALERT, loopbackSender, sendContext } from '../support/channel-sending.ts';
import { MESSAGE_VENDORS, type MessageKind } from './channels/message-vendors.ts';
import { keepsIncidents, type Life, type VendorSide } from './lives/life.ts';
import { LIVES } from './lives/vendors.ts';

/* Vendors that enforce their rules accept every alert, whatever its texts are. */

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const named = (name: string): Partial<Alert> => ({
  monitor: { ...FULL_ALERT.monitor, name },
  errorMessage: name.slice(0, 500).toWellFormed(),
});
const longest = (unit: string): Partial<Alert> => ({
  monitor: {
    ...FULL_ALERT.monitor,
    name: [...unit.repeat(256)].slice(0, 256).join(''),
    url: `https://shop.example/${[...unit.repeat(2_000)].slice(0, 2_000).join('')}`,
  },
  errorMessage: unit.repeat(500).slice(0, 500).toWellFormed(),
});

const ALERTS: readonly (readonly [name: string, alert: Partial<Alert>])[] = [
  ['mentions', named('@everyone <!channel> <@U012AB3CD> @here')],
  ['JSON', named('"},"event_action":"resolve","x":{"')],
  ['a form', named('a&To=%2B1900&Body=b#c+d%20e')],
  ['line breaks and control characters', named('a\r\nb\u0000\tc      d')],
  ['placeholders of templates', named(`{{1}} {{2}} \${env.X} %s`)],
  ['half of a surrogate pair', named('a\ud83d')],
  ['nothing', named('')],
  ['the longest of letters', longest('x')],
  ['the longest of quotes', longest('"\\')],
  ['the longest of extended characters', longest('€[^')],
  ['the longest of emoji', longest('\u{1F468}\u200D\u{1F469}\u200D\u{1F467}')],
  ['the longest of characters beyond the basic plane', longest('\u{20000}')],
  ['no vote', { regions: [], reason: 'x' }],
];

/** `messages.test.ts` tests the other kinds. A webhook's receiver has no rules. */
type RuledKind = Exclude<ChannelKind, MessageKind | 'webhook'>;
const KINDS = CHANNEL_KINDS.filter(
  (kind): kind is RuledKind => kind !== 'webhook' && !(kind in MESSAGE_VENDORS),
);

describe.each(KINDS)('%s', takesEverything);

function takesEverything<K extends RuledKind>(kind: K): void {
  const life: Life<K> = LIVES[kind];

  async function opened(): Promise<{ vendor: VendorSide<K>; send: (alert: Alert) => Promise<unknown> }> {
    const vendor = await life.start();
    closing.push(() => vendor.close());
    const channel: StoredChannelOf<K> = { kind, settings: new Secret(vendor.settings) };
    return { vendor, send: (alert) => loopbackSender(vendor.operator)(channel, alert, sendContext()) };
  }

  test.each(ALERTS)('%s', async (_, alert) => {
    const { vendor, send } = await opened();
    for (const status of ['error', 'degraded', 'recovered'] as const) {
      expect(await send({ ...FULL_ALERT, ...alert, status })).toMatchObject({ outcome: 'delivered' });
    }
    const held = vendor.held();
    const isIncident = keepsIncidents(life);
    expect(held).toHaveLength(isIncident ? 1 : 3);
    expect(held.at(-1)).toMatch(isIncident ? /^(?:resolved|closed)$/ : /^recovered$/);
  });
}
