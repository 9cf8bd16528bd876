import { randomUUID } from 'node:crypto';
import type { PageMail } from '@svc/shared/channels/alert.ts';
import { Secret } from '@svc/shared/secret.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loopbackParts } from '../../../../test/support/channel-sending.ts';
import {
  type ConfiguredStore,
  configuredStore,
  silentLog,
} from '../../../../test/support/configured-store.ts';
import { createResource } from '../../../../test/support/declared-resources.ts';
import { TEST_IDS } from '../../../../test/support/test-ids.ts';
import { MailServer } from '../../../../test/support/vendors/smtp.ts';
import { createSendMail } from '../outgoing/smtp/mail.ts';
import { receiverOf } from '../store/declaration/channels.ts';
import { removedChannels } from '../store/history/retention.ts';
import { findRecipient, recipientAt, removeRecipient } from '../store/pages/page-recipients.ts';
import { Deliverer } from './deliverer.ts';
import { queuePageMails } from './page-mails.ts';
import { createSender } from './sender.ts';
import { storedChannels } from './stored-channels.ts';

let parts: ConfiguredStore;
let server: MailServer;
let deliverer: Deliverer;
let pageId: number;

beforeEach(async () => {
  parts = await configuredStore();
  server = await MailServer.start();
  deliverer = newDeliverer();
  pageId = await createResource(parts, 'svc_status_page');
});
afterEach(async () => {
  await deliverer.stop();
  await server.close();
  await parts.dispose();
});

function newDeliverer(): Deliverer {
  const { store, secrets, clock } = parts;
  const relay = { host: '127.0.0.1', port: server.port, tls: 'none', credentials: null } as const;
  const operator = { smtpUrl: new Secret(relay), mailFrom: { name: 'svc', address: 'svc@example.com' } };
  return new Deliverer({
    store,
    secrets,
    ids: TEST_IDS,
    clock,
    log: silentLog,
    send: createSender(loopbackParts({ sendMail: createSendMail({ clock }), operator })),
    source: storedChannels(store, secrets),
    publicUrl: 'https://svc.example',
  });
}

const MAIL: PageMail = {
  sender: 'Example "status"',
  subject: 'Grüße',
  lines: ['First <b>paragraph</b>,\nof two lines.', 'Second: https://a_b.example/c&d.'],
  button: 'Open',
  footer: 'Why.',
};
const NEWS: PageMail = {
  ...MAIL,
  unsubscribe: { text: 'Unsubscribe', url: 'https://svc.example/u?token=7-x' },
};
const LINK = 'https://svc.example/status/a/access/link?token=s3cret-token-of-the-link';

async function recipient(address = 'ada@example.com'): Promise<number> {
  const at = parts.clock.wall();
  const { id } = await parts.store.transaction((tx) =>
    recipientAt(tx, { pageId, address, language: 'en' }, at),
  );
  return id;
}

async function queue(recipientId: number, content = MAIL, of: 'links' | 'news' = 'links'): Promise<void> {
  const { store, secrets, clock } = parts;
  const onQueued = deliverer.deliverQueued.bind(deliverer);
  const mail = { recipientId, uid: randomUUID(), queue: of, mail: content, link: LINK };
  await store.transaction((tx) => queuePageMails(tx, { secrets, onQueued }, [mail], clock.wall()));
}

const deliveries = () =>
  parts.store.read
    .selectFrom('deliveries')
    .select(['notification_id', 'state', 'last_error', 'alert'])
    .orderBy('id')
    .execute();

/** Resolves after the record of the next attempt. */
const recorded = () =>
  new Promise<void>((resolve) => {
    const forget = deliverer.onRecorded(() => {
      forget();
      resolve();
    });
  });

describe('a mail of a status page', () => {
  test('is sent as text and as HTML, and its link is not stored in clear', async () => {
    await deliverer.start();
    const done = recorded();
    await queue(await recipient());
    const [mail] = await server.received(1);
    await done;
    expect(mail).toMatchObject({ from: 'svc@example.com', to: 'ada@example.com' });
    expect(mail?.parsed.headers.get('from')).toBe('"Example \\"status\\"" <svc@example.com>');
    expect(mail?.parsed.headers.get('subject')).toBe('Grüße');
    expect(mail?.parsed.headers.get('auto-submitted')).toBe('auto-generated');
    expect(mail?.parsed.headers.has('list-unsubscribe')).toBe(false);
    const [text, markup] = mail?.parsed.parts.map((part) => part.text) ?? [];
    expect(text?.replaceAll('\r\n', '\n')).toContain(
      `First <b>paragraph</b>,\nof two lines.\n\nSecond: https://a_b.example/c&d.\n\nOpen: ${LINK}\n\n-- \nWhy.`,
    );
    expect(markup).toContain('First &lt;b&gt;paragraph&lt;/b&gt;,<br>of two lines.');
    expect(markup).toContain('<a href="https://a_b.example/c&amp;d">https://a_b.example/c&amp;d</a>.');
    expect(markup).toContain(`href="${LINK}"`);
    const [row] = await deliveries();
    expect(row?.state).toBe('delivered');
    expect(row?.alert).not.toContain('s3cret');
  });

  test('with news has the headers of a one-click unsubscription (RFC 8058)', async () => {
    await deliverer.start();
    await queue(await recipient(), NEWS, 'news');
    const [mail] = await server.received(1);
    expect(mail?.parsed.headers.get('list-unsubscribe')).toBe('<https://svc.example/u?token=7-x>');
    expect(mail?.parsed.headers.get('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click');
    expect(mail?.parsed.parts[0]?.text).toContain('Unsubscribe: https://svc.example/u?token=7-x');
  });

  test('that was queued before a kill is sent after the next start', async () => {
    await queue(await recipient());
    await deliverer.stop();
    deliverer = newDeliverer();
    await deliverer.start();
    const [mail] = await server.received(1);
    expect(mail?.to).toBe('ada@example.com');
  });

  test('is tried again until the relay takes it', async () => {
    await deliverer.start();
    server.refuse('message', { code: 451, text: 'later' });
    const done = recorded();
    await queue(await recipient());
    await done;
    expect(await deliveries()).toMatchObject([{ state: 'pending' }]);
    server.refuse('message', null);
    parts.clock.advance(10_000);
    expect(await server.received(1)).toHaveLength(1);
  });

  test('is not sent when its link has expired', async () => {
    await deliverer.start();
    const done = recorded();
    await queue(await recipient(), { ...MAIL, expiresAt: parts.clock.wall() });
    await done;
    expect(await deliveries()).toMatchObject([
      { state: 'dead', last_error: 'the link of the mail has expired' },
    ]);
    expect(server.mails).toEqual([]);
  });
});

describe('recipients', () => {
  test('do not wait for each other', async () => {
    await deliverer.start();
    server.refuse('recipient', { code: 451, text: 'later' }, 'ada@example.com');
    const failed = recorded();
    await queue(await recipient());
    await failed;
    await queue(await recipient('bob@example.com'));
    const [mail] = await server.received(1);
    expect(mail?.to).toBe('bob@example.com');
  });

  test('get a link while news wait for them', async () => {
    await deliverer.start();
    server.refuse('recipient', { code: 451, text: 'later' });
    const failed = recorded();
    await queue(await recipient(), NEWS, 'news');
    await failed;
    server.refuse('recipient', null);
    await queue(await recipient());
    const [mail] = await server.received(1);
    expect(mail?.parsed.headers.has('list-unsubscribe')).toBe(false);
  });

  test('whose address is dead get no more news, and others are not stopped', async () => {
    await deliverer.start();
    const [dead, well] = [await recipient(), await recipient('bob@example.com')];
    await parts.store.transaction((tx) => tx.query("UPDATE page_recipients SET subscription = 'confirmed'"));
    server.refuse('recipient', { code: 550, text: '5.1.1 no such user' }, 'ada@example.com');
    const done = recorded();
    await queue(dead, NEWS, 'news');
    await done;
    expect(await findRecipient(parts.store, dead)).toMatchObject({ subscription: 'stopped' });
    expect(await findRecipient(parts.store, well)).toMatchObject({ subscription: 'confirmed' });
    await queue(well, NEWS, 'news');
    expect(await server.received(1)).toMatchObject([{ to: 'bob@example.com' }]);
  });

  test('that are removed get no waiting mail, and the retention finds their mails', async () => {
    const id = await recipient();
    await queue(id);
    await parts.store.transaction((tx) => removeRecipient(tx, { id }));
    await queue(id);
    await deliverer.start();
    await queue(await recipient('bob@example.com'));
    expect(await server.received(1)).toMatchObject([{ to: 'bob@example.com' }]);
    expect(await deliveries()).toHaveLength(2);
    expect(await removedChannels(parts.store)).toEqual([receiverOf(id)]);
  });
});
