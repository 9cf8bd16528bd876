import type { Alert } from '@svc/shared/channels/alert.ts';
import { CHANNEL_KINDS } from '@svc/shared/channels/settings.ts';
import { systemClock } from '@svc/shared/clock.ts';
import { createLogger } from '@svc/shared/log.ts';
import { DELIVERY_COUNTERS } from '@svc/shared/metrics/delivery-instruments.ts';
import { createTotals } from '@svc/shared/metrics/values.ts';
import { regionTexts } from '@svc/shared/regions.ts';
import { Secret } from '@svc/shared/secret.ts';
import type { SettingsTable } from '@svc/shared/settings/environment.ts';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { loopbackParts } from '../../../../test/support/channel-sending.ts';
import { COORDINATOR_SETTINGS } from '../config.ts';
import type { Channel } from './channel.ts';
import { testAlert } from './manual-deliveries.ts';
import { CHANNEL_OPERATOR_SETTINGS, CHANNELS, type Channels, closesIncidents } from './registry.ts';
import { Attempts, channelProblems, createSender } from './sender.ts';

const RELAY = {
  smtpUrl: { name: 'SVC_SMTP_URL', description: 'relay', schema: z.string().optional() },
  mailFrom: { name: 'SVC_MAIL_FROM', description: 'sender', schema: z.string().optional() },
} as const satisfies SettingsTable;

/** The registry with a kind that needs settings of the operator and records its arguments. */
function withEmail() {
  const sent: { readonly to: string; readonly alert: Alert; readonly from: string }[] = [];
  const email: Channel<'email', typeof RELAY> = {
    closesIncidents: false,
    isHuman: true,
    dropsOld: false,
    rate: {},
    operatorSettings: RELAY,
    async send(settings, alert, _context, { operator }) {
      sent.push({ to: settings.email, alert, from: operator.mailFrom });
      return { outcome: 'delivered' };
    },
  };
  return { channels: { ...CHANNELS, email }, sent };
}

const CHANNEL = { kind: 'email', settings: new Secret({ email: 'ops@example.com' }) } as const;
const ALERT = testAlert(1_767_225_600_000, 'https://svc.example');
const CONTEXT = {
  deliveryId: 'a',
  attemptAt: 0,
  signal: new AbortController().signal,
  thread: null,
  kept: null,
};
const post = () => Promise.reject(new TypeError('nothing is posted here'));

test('a kind gets the decrypted settings and the values of the operator', async () => {
  const { channels, sent } = withEmail();
  const operator = { smtpUrl: 'smtp://relay', mailFrom: 'svc@example.com' };
  const send = createSender(loopbackParts({ post, operator }), channels);
  expect(await send(CHANNEL, ALERT, CONTEXT)).toEqual({ outcome: 'delivered' });
  expect(sent).toEqual([{ to: 'ops@example.com', alert: ALERT, from: 'svc@example.com' }]);
  expect(channelProblems(loopbackParts({ operator }), channels)('email', {})).toBeNull();
});

test('a channel is given what people see of the regions', async () => {
  const { channels, sent } = withEmail();
  const operator = { smtpUrl: 'smtp://relay', mailFrom: 'svc@example.com' };
  const regionText = regionTexts([{ id: 'office-berlin', name: 'Berlin office' }]);
  const alert: Alert = { ...ALERT, regions: [{ region: 'office-berlin', outcome: 'failed' }] };
  await createSender(loopbackParts({ post, operator, regionText }), channels)(CHANNEL, alert, CONTEXT);
  expect(sent[0]?.alert.regions).toEqual([
    { region: 'office-berlin', text: 'Berlin office (office-berlin)', outcome: 'failed' },
  ]);
});

test('without a setting of the operator nothing is sent, and the error names the setting', async () => {
  const { channels, sent } = withEmail();
  const operator = { smtpUrl: 'smtp://relay' };
  const message = 'SVC_MAIL_FROM is not set: email channels need it';
  expect(channelProblems(loopbackParts({ operator }), channels)('email', {})).toEqual({
    reason: 'setting-missing',
    message,
  });
  const send = createSender(loopbackParts({ post, operator }), channels);
  expect(await send(CHANNEL, ALERT, CONTEXT)).toEqual({ outcome: 'not-sent', error: message });
  expect(sent).toEqual([]);
});

test('a kind without a sender can be declared, and the error says that this version cannot send to it', async () => {
  const channels: Channels = {
    ...CHANNELS,
    email: { ...CHANNELS.email, operatorSettings: {}, send: null },
  };
  const message = 'email channels are not available in this version';
  expect(channelProblems(loopbackParts(), channels)('email', {})).toEqual({ reason: 'no-sender', message });
  const send = createSender(loopbackParts({ post }), channels);
  const ownFault = { outcome: 'permanent-message', reason: 'own', error: message };
  expect(await send(CHANNEL, ALERT, CONTEXT)).toEqual(ownFault);
});

test('a stored alert that cannot be read counts as a failure of svc, not of the receiver', async () => {
  const counters = createTotals(DELIVERY_COUNTERS);
  const send = createSender(loopbackParts({ post }));
  const attempts = new Attempts({ send, clock: systemClock, log: createLogger('test', 'silent'), counters });
  const found = { workspaceId: 1, kind: 'email', stoppedFor: null, groupsAlerts: true, kept: null };
  const result = await attempts.makeAttempt({ ...found, openSettings: () => CHANNEL }, null, CONTEXT);
  expect(result).toMatchObject({ outcome: 'permanent-message', reason: 'own' });
  expect(counters.failures).toMatchObject({ own: 1, unanswered: 0 });
});

test('the coordinator reads the settings of every kind, each with one key and one name', () => {
  const read: SettingsTable = COORDINATOR_SETTINGS;
  for (const kind of CHANNEL_KINDS) {
    const table: SettingsTable = CHANNELS[kind].operatorSettings;
    for (const [key, setting] of Object.entries(table)) expect(read[key]).toBe(setting);
  }
  const names = Object.values(read).map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const key of Object.keys(CHANNEL_OPERATOR_SETTINGS)) expect(Object.keys(read)).toContain(key);
});

test('a registry without a line for a kind fails the type check', () => {
  const { push_a: _, ...lacking } = CHANNELS;
  // @ts-expect-error `push_a` is missing.
  const channels: Channels = lacking;
  expect(Object.keys(channels)).toHaveLength(CHANNEL_KINDS.length - 1);
});

test('a kind that this version does not know does not get an end without a recovery', () => {
  expect(closesIncidents('a-kind-of-a-newer-version')).toBe(false);
});
