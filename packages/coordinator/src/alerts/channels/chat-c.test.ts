import { Secret } from '@svc/shared/secret.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FULL_ALERT, loopbackSender, sendContext } from '../../../../../test/support/channel-sending.ts';
import { GOOGLE_CHAT_PATH, GoogleChat } from '../../../../../test/support/vendors/google-chat.ts';
import { serveVendor, type VendorServer } from '../../../../../test/support/vendors/serve.ts';
import { groupAlert } from '../../verdict/grouping.ts';
import type { SendResult } from '../channel.ts';

let vendor: GoogleChat;
let server: VendorServer;
beforeEach(async () => {
  vendor = new GoogleChat();
  server = await serveVendor(vendor);
});
afterEach(() => server.close());

const alertOf = (id: number) => ({
  ...FULL_ALERT,
  monitor: { ...FULL_ALERT.monitor, id },
  incident: `incident of ${id}`,
});

let sends = 0;
async function send(alert: typeof FULL_ALERT, thread: string | null): Promise<SendResult> {
  const settings = new Secret({ webhook_url: `${server.url}${GOOGLE_CHAT_PATH}` });
  sends += 1;
  const context = { ...sendContext(), deliveryId: `delivery-${sends}`, thread };
  return loopbackSender()({ kind: 'chat_c', settings }, alert, context);
}

test('a later alert of one monitor of a group is in the thread of the group', async () => {
  const group = await send(groupAlert([1, 2, 3].map(alertOf)), null);
  expect(group).toMatchObject({ outcome: 'delivered', thread: expect.any(String) });
  const thread = group.outcome === 'delivered' ? (group.thread ?? null) : null;
  for (const id of [1, 2, 3]) await send({ ...alertOf(id), status: 'recovered' }, thread);
  await send(alertOf(4), null);
  const threads = vendor.messages.map((message) => message.thread);
  expect(new Set(threads.slice(0, 4)).size).toBe(1);
  expect(threads[4]).toBe('incident of 4');
});
