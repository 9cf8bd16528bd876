import { unsubscribeToken } from '@svc/coordinator/pages/subscribers/mail-links.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { VISITOR_KEY } from '../support/api.ts';
import { createResource, replaceResource } from '../support/declared-resources.ts';
import { rowsOf } from '../support/store-rows.ts';
import { hiddenFields, linkOf, VisitedPages, type Visitor } from '../support/visited-pages.ts';

const PATH = '/status/main';

let pages: VisitedPages;
let pageId: number;

beforeEach(async () => {
  pages = await VisitedPages.start();
  pageId = await createResource(pages.api, 'svc_status_page', { title: 'Main', slug: 'main' });
});
afterEach(() => pages.dispose());

const subscribe = (address: string, visitor = pages.visitor()) =>
  visitor.submit(`${PATH}/subscribe`, { address });

/** The link in the mail that asks the owner of an address to confirm. */
async function confirmationFor(address = 'ada@example.com'): Promise<string> {
  const before = pages.mailServer.mails.filter(({ to }) => to === address).length;
  expect((await subscribe(address)).status).toBe(200);
  for (let count = 1; ; count += 1) {
    const mails = (await pages.mailServer.received(count)).filter(({ to }) => to === address);
    if (mails.length > before) return linkOf(mails.at(-1));
  }
}

type Listed = { total: number; data: { id: string; address: string; state: string }[] };

async function subscribers(headers: Record<string, string> = {}): Promise<Listed> {
  const { status, body } = await pages.api.call(
    'GET',
    `/v1/status-pages/${pageId}/subscribers`,
    undefined,
    headers,
  );
  expect(status).toBe(200);
  return body as Listed;
}

describe('a visitor subscribes', () => {
  test('with an address, the link of a mail, and the button behind it', async () => {
    const link = await confirmationFor();
    expect(link).toMatch(/^\/status\/main\/subscribe\/confirm\?token=[\w-]{43}$/);
    expect(await subscribers()).toMatchObject({ total: 0 });
    const answer = await pages.visitor().submit(link);
    expect(answer.status).toBe(200);
    expect(answer.text).toContain('You are subscribed');
    expect(await subscribers()).toMatchObject({
      total: 1,
      data: [{ address: 'ada@example.com', state: 'confirmed' }],
    });
  });

  test('and programs that open the link confirm nothing', async () => {
    const link = await confirmationFor();
    for (const method of ['GET', 'HEAD'] as const) await pages.visitor().ask(link, { method });
    await pages.visitor().ask(link, { form: {} });
    expect(await subscribers()).toMatchObject({ total: 0 });
    expect((await pages.visitor().submit(link)).status).toBe(200);
  });

  test('with a link that works once, and for a day', async () => {
    const [first, second] = [await confirmationFor(), await confirmationFor('bob@example.com')];
    expect((await pages.visitor().submit(first)).status).toBe(200);
    expect((await pages.visitor().submit(first)).status).toBe(403);
    pages.api.clock.advance(24 * 3_600_000);
    expect((await pages.visitor().submit(second)).status).toBe(403);
    expect(await subscribers()).toMatchObject({ total: 1 });
  });

  test('with a link that does not sign in, and a sign-in link does not confirm', async () => {
    const confirmation = await confirmationFor();
    const members = {
      title: 'Main',
      slug: 'main',
      access_type: 'email-domain',
      auth_email_domains: ['example.com'],
    };
    await replaceResource(pages.api, 'svc_status_page', pageId, members);
    const token = new URL(confirmation, pages.api.url).searchParams.get('token');
    expect((await pages.visitor().submit(`${PATH}/access/link?token=${token}`)).status).toBe(403);
  });

  test('twice, and is one subscriber', async () => {
    await pages.visitor().submit(await confirmationFor());
    await pages.visitor().submit(await confirmationFor());
    expect(await subscribers()).toMatchObject({ total: 1 });
  });
});

describe('a page that becomes private', () => {
  const locked = (password: string) => ({ title: 'Main', slug: 'main', access_type: 'password', password });
  const change = (members: Record<string, unknown>) =>
    replaceResource(pages.api, 'svc_status_page', pageId, members);
  const stateOfOne = async () => (await subscribers()).data[0]?.state;

  test('keeps its subscribers, who get nothing until it is public again or they subscribe behind the gate', async () => {
    await pages.visitor().submit(await confirmationFor());
    await change(locked('first'));
    expect(await stateOfOne()).toBe('held');
    await change({ title: 'Main', slug: 'main' });
    expect(await stateOfOne()).toBe('confirmed');

    await change(locked('first'));
    const visitor = pages.visitor({ authorization: `Basic ${btoa(':first')}` });
    await subscribe('ada@example.com', visitor);
    const mails = await pages.mailServer.received(2);
    await pages.visitor().submit(linkOf(mails.at(-1)));
    expect(await stateOfOne()).toBe('confirmed');
    await change(locked('second'));
    expect(await stateOfOne()).toBe('held');
  });

  test('accepts no confirmation that was requested before', async () => {
    const link = await confirmationFor();
    await change(locked('first'));
    const answer = await pages.visitor().submit(link);
    expect([answer.status, answer.text.includes('You are subscribed')]).toEqual([403, false]);
    expect(await stateOfOne()).not.toBe('confirmed');
  });
});

describe('the unsubscription', () => {
  async function unsubscribeLink(): Promise<string> {
    await pages.visitor().submit(await confirmationFor());
    const [row] = await rowsOf(pages.api.store, 'page_recipients');
    return `${PATH}/unsubscribe?token=${unsubscribeToken(VISITOR_KEY, row?.id ?? 0)}`;
  }

  test('is a button behind the link of each mail', async () => {
    const link = await unsubscribeLink();
    expect((await pages.visitor().ask(link)).text).toContain('End the subscription');
    expect(await subscribers()).toMatchObject({ total: 1 });
    expect((await pages.visitor().submit(link)).status).toBe(200);
    expect(await rowsOf(pages.api.store, 'page_recipients')).toEqual([]);
  });

  test.each([
    ['one click', 'List-Unsubscribe=One-Click', 'application/x-www-form-urlencoded'],
    [
      'one click as RFC 8058 prefers it',
      '--b\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--b--\r\n',
      'multipart/form-data; boundary=b',
    ],
  ])('is %s of a mail program, from any address and without a cookie', async (_how, body, type) => {
    const link = await unsubscribeLink();
    const response = await fetch(`${pages.api.url}${link}`, {
      method: 'POST',
      headers: { 'content-type': type, origin: 'https://mail.example', 'sec-fetch-site': 'cross-site' },
      body,
    });
    expect(response.status).toBe(200);
    await response.arrayBuffer();
    expect(await subscribers()).toMatchObject({ total: 0 });
    // Mail programs may repeat the request.
    expect((await pages.visitor().submit(link)).status).toBe(200);
  });

  test('works after the page was renamed or removed', async () => {
    const link = await unsubscribeLink();
    await replaceResource(pages.api, 'svc_status_page', pageId, { title: 'Main', slug: 'renamed' });
    expect((await pages.visitor().submit(link)).status).toBe(200);
    expect(await rowsOf(pages.api.store, 'page_recipients')).toEqual([]);
  });

  test('needs a token that svc made', async () => {
    const link = await unsubscribeLink();
    for (const wrong of [link.replace(/token=\d+/, 'token=99'), `${link}x`, `${PATH}/unsubscribe`]) {
      expect((await pages.visitor().ask(wrong)).status, wrong).toBe(404);
      expect((await pages.visitor().ask(wrong, { form: {} })).status, wrong).toBe(404);
    }
    expect(await subscribers()).toMatchObject({ total: 1 });
  });
});

describe('mail bombs', () => {
  const deliveries = () => rowsOf(pages.api.store, 'deliveries');

  test('one mailbox gets three mails an hour, for all spellings of its address, and the answers are the same', async () => {
    const answers: string[] = [];
    for (const address of [
      'ada@example.com',
      'Ada@example.com',
      'ada+1@example.com',
      'ADA+2@example.com',
      'ada@EXAMPLE.com',
    ]) {
      const { text } = await subscribe(address);
      answers.push(text.replaceAll(/ada[^ ]*@example\.com/gi, 'ADDRESS'));
    }
    expect(new Set(answers).size).toBe(1);
    await confirmationFor('bob@example.com');
    expect(await deliveries()).toHaveLength(4);
  });

  test('one visitor can ask for ten mails in an hour, on all pages together', async () => {
    await createResource(pages.api, 'svc_status_page', { title: 'Other', slug: 'other' });
    const visitor = pages.visitor();
    const statuses: number[] = [];
    for (let n = 0; n < 12; n += 1) {
      const path = n % 2 === 0 ? PATH : '/status/other';
      statuses.push(
        (await visitor.submit(`${path}/subscribe`, { address: `victim${n}@example.com` })).status,
      );
    }
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 200), 429, 429]);
  });

  test('a form of another site subscribes nobody', async () => {
    const visitor = pages.visitor();
    const fields = hiddenFields((await visitor.ask(`${PATH}/subscribe`)).text);
    const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    const form = { ...fields, address: 'victim@example.com' };
    expect((await visitor.ask(`${PATH}/subscribe`, { form, headers })).status).toBe(403);
    await confirmationFor('bob@example.com');
    expect(await deliveries()).toHaveLength(1);
  });
});

describe('a private page', () => {
  beforeEach(() =>
    replaceResource(pages.api, 'svc_status_page', pageId, {
      title: 'Main',
      slug: 'main',
      access_type: 'password',
      password: 'correct horse',
    }),
  );

  test('takes subscriptions only of visitors who may read it', async () => {
    const stranger = pages.visitor();
    expect((await stranger.ask(`${PATH}/subscribe`)).status).toBe(303);
    const fields = hiddenFields((await stranger.ask(`${PATH}/access`)).text);
    const form = { ...fields, address: 'eve@example.com' };
    expect((await stranger.ask(`${PATH}/subscribe`, { form })).status).toBe(303);
    const reader: Visitor = pages.visitor();
    await reader.submit(`${PATH}/access`, { password: 'correct horse' });
    expect((await subscribe('ada@example.com', reader)).status).toBe(200);
    await pages.mailServer.received(1);
    expect((await rowsOf(pages.api.store, 'page_recipients')).map(({ address }) => address)).toEqual([
      'ada@example.com',
    ]);
  });
});

describe('the API', () => {
  test('lists subscribers, hides addresses from tokens that may only read, and removes one', async () => {
    await pages.visitor().submit(await confirmationFor());
    const { data } = await subscribers({ authorization: `Bearer ${pages.api.reader}` });
    expect(data[0]?.address).toBe('********@example.com');
    const path = `/v1/status-pages/${pageId}/subscribers/${data[0]?.id}`;
    const reading = { authorization: `Bearer ${pages.api.reader}` };
    expect((await pages.api.call('DELETE', path, undefined, reading)).status).toBe(403);
    expect((await pages.api.call('DELETE', path)).status).toBe(204);
    expect((await pages.api.call('DELETE', path)).status).toBe(404);
    expect(await subscribers()).toMatchObject({ total: 0 });
    expect(await rowsOf(pages.api.store, 'page_recipients')).toEqual([]);
  });

  test('knows no page of another workspace, and no subscriber of another page', async () => {
    await pages.visitor().submit(await confirmationFor());
    const { data } = await subscribers();
    const other = await createResource(pages.api, 'svc_status_page', { title: 'Other', slug: 'other' });
    expect(
      (await pages.api.call('DELETE', `/v1/status-pages/${other}/subscribers/${data[0]?.id}`)).status,
    ).toBe(404);
    expect((await pages.api.call('GET', '/v1/status-pages/999/subscribers')).status).toBe(404);
  });
});
