import { Secret } from '@svc/shared/secret.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FULL_ALERT, loopbackSender, sendContext } from '../../../../../test/support/channel-sending.ts';
import { serveVendor, type VendorServer } from '../../../../../test/support/vendors/serve.ts';
import { Twilio } from '../../../../../test/support/vendors/twilio.ts';

const ACCOUNT = { sid: `AC${'0'.repeat(32)}`, token: 'token', senders: ['svc'], templates: {} };

let vendor: Twilio;
let server: VendorServer;
beforeEach(async () => {
  vendor = new Twilio(ACCOUNT);
  server = await serveVendor(vendor);
});
afterEach(() => server.close());

async function textOf(name: string): Promise<string> {
  const operator = {
    twilioAccountSid: ACCOUNT.sid,
    twilioAuthToken: new Secret(ACCOUNT.token),
    twilioBaseUrl: server.url,
    twilioSmsFrom: 'svc',
  };
  const settings = new Secret({ phone_number: '+4915112345678' });
  const alert = { ...FULL_ALERT, monitor: { ...FULL_ALERT.monitor, name } };
  const sent = await loopbackSender(operator)({ kind: 'sms', settings }, alert, sendContext());
  expect(sent).toMatchObject({ outcome: 'delivered' });
  return vendor.messages.at(-1)?.text ?? '';
}

test('a name in Latin script is in GSM-7, without marks that GSM-7 does not have', async () => {
  expect(await textOf('Łódź “größte”')).toMatch(/^Error: Lodz "größte"\n.*\nhttps:\S+$/s);
});

test.each(['Магазин', '監視', 'دکان'])('the name %s is readable, in two segments of UCS-2', async (name) => {
  const text = await textOf(name);
  expect(text).toContain(`Error: ${name}\n`);
  expect(text).toMatch(/\nhttps:\S+$/);
  expect(text.length).toBeLessThanOrEqual(134);
});

test('a name that is too long is shortened, and leaves room for the link', async () => {
  const text = await textOf('Ж'.repeat(256));
  expect(text).toMatch(/^Error: Ж{30,}…\n/);
  expect(text).toMatch(/\nhttps:\S+$/);
  expect(text.length).toBeLessThanOrEqual(134);
});
