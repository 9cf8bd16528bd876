import { Secret } from '@svc/shared/secret.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FULL_ALERT, loopbackSender, sendContext } from '../../../../../test/support/channel-sending.ts';
import { serveVendor, type VendorServer } from '../../../../../test/support/vendors/serve.ts';
import { TELEGRAM_CHATS, TELEGRAM_TOKEN, Telegram } from '../../../../../test/support/vendors/telegram.ts';
import type { SendResult } from '../channel.ts';

let vendor: Telegram;
let server: VendorServer;
beforeEach(async () => {
  vendor = new Telegram();
  server = await serveVendor(vendor);
});
afterEach(() => server.close());

async function send(
  chat: string,
  thread: string | null = null,
  kept: string | null = null,
): Promise<SendResult> {
  const operator = { telegramBotToken: new Secret(TELEGRAM_TOKEN), telegramBaseUrl: server.url };
  const channel = { kind: 'messenger_a', settings: new Secret({ chat_id: chat }) } as const;
  return loopbackSender(operator)(channel, FULL_ALERT, { ...sendContext(), thread, kept });
}

function threadOf(result: SendResult): string {
  expect(result).toMatchObject({ outcome: 'delivered' });
  return (result.outcome === 'delivered' ? result.thread : undefined) ?? '';
}

test('all later alerts of an incident are replies to its first message', async () => {
  const opening = threadOf(await send(TELEGRAM_CHATS.named));
  const update = threadOf(await send(TELEGRAM_CHATS.named, opening));
  expect(update).toBe(opening);
  await send(TELEGRAM_CHATS.named, update);
  await send(TELEGRAM_CHATS.named);
  expect(vendor.messages.map(({ thread }) => thread)).toEqual(['1', '1', '1', '4']);
});

test('a group that became a supergroup gets its alert at once, and later alerts are replies to it there', async () => {
  const opening = threadOf(await send(TELEGRAM_CHATS.former));
  expect(server.requests).toHaveLength(2);
  await send(TELEGRAM_CHATS.former, opening);
  expect(server.requests).toHaveLength(3);
  expect(vendor.messages.map(({ thread }) => thread)).toEqual(['1', '1']);
});

test('the new id of a group is kept: the next incident costs one request', async () => {
  const first = await send(TELEGRAM_CHATS.former);
  const kept = first.outcome === 'delivered' ? (first.kept ?? null) : null;
  const second = await send(TELEGRAM_CHATS.former, null, kept);
  expect(server.requests).toHaveLength(3);
  expect(second).toMatchObject({ outcome: 'delivered' });
  // The declared chat was changed after `kept` was stored.
  await send(TELEGRAM_CHATS.group, null, kept);
  expect(server.requests[3]?.json).toMatchObject({ chat_id: Number(TELEGRAM_CHATS.group) });
});

test.each([
  ['of another chat', JSON.stringify({ declared: '@other', chat: '@other', messageId: 3 })],
  ['of another version', '{"v":2}'],
  ['that is no object', '12'],
])('a thread %s is not answered', async (_, thread) => {
  await send(TELEGRAM_CHATS.group, thread);
  expect(server.requests[0]?.json).not.toHaveProperty('reply_parameters');
});

test('an alert is sent even if the opening message was deleted', async () => {
  const thread = JSON.stringify({
    declared: TELEGRAM_CHATS.group,
    chat: TELEGRAM_CHATS.group,
    messageId: 99,
  });
  expect(await send(TELEGRAM_CHATS.group, thread)).toMatchObject({ outcome: 'delivered' });
});

test.each([
  [TELEGRAM_CHATS.blocked, { outcome: 'retry', mayBeDead: true }],
  [TELEGRAM_CHATS.readOnly, { outcome: 'retry', mayBeDead: true }],
  ['-5000', { outcome: 'permanent-channel' }],
])('a refusal because of the chat %s', async (chat, expected) => {
  expect(await send(chat)).toMatchObject(expected);
});
