import { contentOf, plainLine, plainText } from '@svc/coordinator/alerts/content.ts';
import type { StoredChannelOf } from '@svc/coordinator/alerts/sender.ts';
import type { Alert } from '@svc/shared/channels/alert.ts';
import { Secret } from '@svc/shared/secret.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { FULL_ALERT, loopbackSender, PUBLIC_URL, sendContext } from '../support/channel-sending.ts';
import { serveVendor, type VendorServer } from '../support/vendors/serve.ts';
import { MESSAGE_VENDORS, type MessageKind, type MessageVendor } from './channels/message-vendors.ts';
import { NOTICES } from './channels/notices.ts';
import { REMINDERS } from './channels/reminders.ts';

/*
 * Tests what people see of an alert. Each kind sends, through the function that production calls, to a fake
 * that enforces its vendor's rules.
 */

let server: VendorServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

/** Names with which somebody might notify a room, break out of a text, or hide where a link leads. */
const HOSTILE = [
  '@everyone',
  '@here @channel',
  '@svc_admin',
  '<!channel>',
  '<!here|here>',
  '<@U012AB3CD>',
  '<@123456789012345678>',
  '<@&123456789012345678>',
  '<#C012AB3CD>',
  '<users/all>',
  '<users/123>',
  '[click](https://evil.example)',
  '<https://evil.example|click>',
  '<a href="https://evil.example">click</a>',
  '<a href="tg://user?id=1">x</a>',
  '</b></font><img src=x>',
  '&lt;!channel&gt;',
  '```\nrm -rf\n```',
  '**bold** _italic_ ~strike~ `code` ||spoiler||',
  '> quote',
  '\\@everyone \\',
  '"},"topic":"other","x":{"',
  `\${env.SECRET} {{secret}} %s %n`,
  '\u202Egnp.exe',
  'a\u0000b\r\nBcc: x@example.com',
  '\uD83D',
] as const;

const ADDRESSES = [
  'https://shop_old.example/new_path',
  'https://shop.example/_a_/__b__/~c~/~~d~~/*e*/**f**/|g|/||h||/[i]/(j)',
  'https://shop.example/[a](b)',
  'https://shop.example/@everyone/@svc_admin',
  'https://shop.example/a&b&lt;c',
  'HTTP://shop_old.example:8080/a_b#c_d',
];

/** An alert whose every text is as long as it may be. */
const OVERSIZE = [
  ['letters', 'x'],
  ['characters to escape', '<&>'],
  ['Markdown', '*_`|'],
  ['quotes', '"\\'],
  ['emoji of several code points', '\u{1F468}\u200D\u{1F469}\u200D\u{1F467}'],
  ['characters beyond the basic plane', '\u{20000}'],
  ['letters with marks', 'e\u0301\u0323'],
] as const;

function filled(unit: string, codePoints: number): string {
  return [...unit.repeat(codePoints)].slice(0, codePoints).join('');
}

const GROUP: Alert['group'] = {
  counts: { error: 90, degraded: 5, recovered: 5 },
  monitors: Array.from({ length: 100 }, (_, id) => ({
    id,
    name: filled(`<@everyone>&*_"`, 256),
    status: id < 90 ? ('error' as const) : id < 95 ? ('degraded' as const) : ('recovered' as const),
    errorMessage: filled('*<&"_', 500),
  })),
  shared: { host: 'shop.example' },
};

/** A text without what nobody sees, and without the quotes that a vendor's medium has other signs for. */
function asSeen(text: string): string {
  return text.replace(/[`'\p{Default_Ignorable_Code_Point}]/gu, '');
}

describe.each(Object.keys(MESSAGE_VENDORS) as MessageKind[])('%s', showsAlerts);

function showsAlerts<K extends MessageKind>(kind: K): void {
  const entry: MessageVendor<K> = MESSAGE_VENDORS[kind];

  async function shownOf(alert: Alert) {
    const vendor = entry.create();
    server = await serveVendor(vendor);
    const channel: StoredChannelOf<K> = { kind, settings: new Secret(entry.settings(server.url)) };
    const result = await loopbackSender(entry.operator(server.url))(channel, alert, sendContext());
    expect(result).toMatchObject({ outcome: 'delivered' });
    expect(vendor.messages).toHaveLength(1);
    return vendor.messages[0] ?? { text: '', links: [], thread: null, mentions: [] };
  }

  test.each(['error', 'degraded', 'recovered'] as const)(
    '%s: title and facts, as people read them',
    async (status) => {
      const alert = { ...FULL_ALERT, status, since: FULL_ALERT.at - 600_000, degradedAt: 100 };
      const { text, mentions } = await shownOf(alert);
      const content = contentOf(alert, PUBLIC_URL);
      const lines = plainText(content).split('\n').slice(0, -1);
      for (const line of lines) expect(text).toContain(line);
      expect(mentions).toEqual([]);
    },
  );

  test.each(HOSTILE)('a monitor that is called %j notifies nobody, and is called so', async (name) => {
    const alert: Alert = { ...FULL_ALERT, monitor: { ...FULL_ALERT.monitor, name }, errorMessage: name };
    const { text, mentions } = await shownOf(alert);
    expect(mentions).toEqual([]);
    const { title } = contentOf(alert, PUBLIC_URL);
    expect(asSeen(text)).toContain(asSeen(title));
  });

  test.each(ADDRESSES)('the address %s arrives whole, and its link leads there', async (address) => {
    const alert: Alert = {
      ...FULL_ALERT,
      monitor: { ...FULL_ALERT.monitor, url: address },
      errorMessage: `the server redirects to "${address}", and again to ${address}.`,
    };
    const { text, links } = await shownOf(alert);
    const { facts } = contentOf(alert, PUBLIC_URL);
    for (const line of facts.map(plainLine)) expect(asSeen(text)).toContain(asSeen(line));
    const own = links.filter((link) => !link.startsWith(PUBLIC_URL));
    // Of plain text, each program decides itself where an address ends.
    if (kind === 'push_a') expect(own).toContain(address);
    else expect(own.map((link) => link.replaceAll('%7C', '|'))).toEqual([address, address, address]);
  });

  test('an address that is a name arrives whole, in the title too', async () => {
    const name = 'https://shop_old.example/_new_path_/@all';
    const { text, links } = await shownOf({ ...FULL_ALERT, monitor: { ...FULL_ALERT.monitor, name } });
    expect(asSeen(text)).toContain(`Error: ${name}`);
    // The titles of the others are links to the monitor, or plain text.
    if (kind !== 'push_a' && kind !== 'chat_b') expect(links).toContain(name);
  });

  test('an address that is masked or cut is no link', async () => {
    const path = 'x_y_'.repeat(500);
    const url = `https://shop_old.example/${path}?key=s3cret`;
    const { text, links } = await shownOf({ ...FULL_ALERT, monitor: { ...FULL_ALERT.monitor, url } });
    expect(text).toContain('HTTP target: https://shop_old.example/x_y_');
    if (kind !== 'push_a') expect(links.filter((link) => !link.startsWith(PUBLIC_URL))).toEqual([]);
  });

  test.each(OVERSIZE)('texts of %s at their longest are shortened', async (_, unit) => {
    const { text } = await shownOf({
      ...FULL_ALERT,
      monitor: {
        ...FULL_ALERT.monitor,
        name: filled(unit, 256),
        url: `https://x.example/${filled(unit, 2_030)}`,
      },
      errorMessage: filled(unit, 500).slice(0, 500).toWellFormed(),
    });
    expect(text).toContain('Status code: 503');
    expect(text.isWellFormed()).toBe(true);
  });

  test('one message for a hundred monitors', async () => {
    const { text, mentions } = await shownOf({ ...FULL_ALERT, group: GROUP });
    expect(text).toContain('100 monitors: 90 error, 5 degraded, 5 recovered');
    expect(mentions).toEqual([]);
  });

  test.each([...NOTICES, ...REMINDERS])('%s', async (title, alert) => {
    const { text, mentions } = await shownOf(alert);
    const lines = plainText(contentOf(alert, PUBLIC_URL)).split('\n').slice(0, -1);
    expect(lines[0]).toBe(title);
    for (const line of lines) expect(text).toContain(line);
    expect(mentions).toEqual([]);
  });

  test('a notice about a monitor that is called @everyone notifies nobody', async () => {
    const [, alert] = NOTICES[0] as (typeof NOTICES)[number];
    const name = '<!channel> @everyone';
    const notice = { title: `No data: ${name}`, lines: [], facts: [{ label: 'Problem', text: name }] };
    const { mentions } = await shownOf({ ...alert, monitor: { ...alert.monitor, name }, notice });
    expect(mentions).toEqual([]);
  });

  test('what svc says about itself, and a test', async () => {
    const notice = { title: 'A channel fails: <!channel> @everyone', lines: ['See its deliveries.'] };
    expect((await shownOf({ ...FULL_ALERT, notice })).mentions).toEqual([]);
    await server?.close();
    expect((await shownOf({ ...FULL_ALERT, test: true })).text).toContain('Test of this channel');
  });
}
