import { formToken } from '@svc/coordinator/web/csrf.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createResource, replaceResource } from '../support/declared-resources.ts';
import { rowsOf } from '../support/store-rows.ts';
import { hiddenFields, linkOf, VisitedPages, type Visitor } from '../support/visited-pages.ts';

const PASSWORD = 'correct horse battery staple';
const PATH = '/status/main';
const SECRET_NAME = 'Component that only readers may see';
/** All documents below the path of a page. */
const DOCUMENTS = [
  '',
  '/feed.atom',
  '/feed.rss',
  '/feed.json',
  '/badge.svg',
  '/api/v2/summary.json',
  '/api/v2/status.json',
  '/api/v2/components.json',
];

let pages: VisitedPages;
let pageId: number;

beforeEach(async () => {
  pages = await VisitedPages.start();
});
afterEach(() => pages.dispose());

async function declarePage(members: Record<string, unknown>): Promise<void> {
  pageId = await createResource(pages.api, 'svc_status_page', { title: 'Main', slug: 'main', ...members });
  await createResource(pages.api, 'svc_status_page_component', {
    page_id: String(pageId),
    type: 'static',
    name: SECRET_NAME,
  });
}

const changePage = (members: Record<string, unknown>) =>
  replaceResource(pages.api, 'svc_status_page', pageId, { title: 'Main', slug: 'main', ...members });

const signIn = (visitor: Visitor, password = PASSWORD) => visitor.submit(`${PATH}/access`, { password });

async function statusesOf(visitor: Visitor): Promise<number[]> {
  const statuses: number[] = [];
  for (const path of DOCUMENTS) statuses.push((await visitor.ask(`${PATH}${path}`)).status);
  return statuses;
}

describe('a page with a password', () => {
  beforeEach(() => declarePage({ access_type: 'password', password: PASSWORD }));

  test('shows a stranger a form at its path, and nothing below it', async () => {
    const stranger = pages.visitor();
    const page = await stranger.ask(PATH);
    expect(page.status).toBe(303);
    expect(page.headers.get('location')).toBe(`${PATH}/access`);
    for (const path of [...DOCUMENTS.slice(1), '/days/1', '/nothing', '/subscribe', '//', '/%2e%2e/main']) {
      const answer = await stranger.ask(`${PATH}${path}`);
      expect([303, 308, 401, 404], path).toContain(answer.status);
      expect(answer.text, path).not.toContain(SECRET_NAME);
      expect(answer.text, path).not.toContain('Main');
    }
    const form = await stranger.ask(`${PATH}/access`);
    expect(form.status).toBe(200);
    expect(form.headers.get('cache-control')).toBe('private, no-store');
    expect(form.headers.get('x-robots-tag')).toBe('noindex');
    expect(form.text).not.toContain('Main');
  });

  test.each(['', 'planted', 'a.b', '"x"'])(
    'makes a seed of its own where the cookie is %j',
    async (planted) => {
      const visitor = pages.visitor();
      visitor.cookies.set('svc-visitor', planted);
      const { status, text } = await visitor.ask(`${PATH}/access`);
      expect(status).toBe(200);
      expect(visitor.cookies.get('svc-visitor')).toMatch(/^[\w-]{43}$/);
      visitor.cookies.set('svc-visitor', planted);
      const form = { ...hiddenFields(text), form_token: formToken(planted), password: PASSWORD };
      expect((await visitor.ask(`${PATH}/access`, { form })).status).toBe(403);
    },
  );

  test('and everything below it open with the password, and no cache stores them', async () => {
    const reader = pages.visitor();
    const answer = await signIn(reader);
    expect(answer.status).toBe(303);
    expect(answer.headers.get('location')).toBe(PATH);
    expect(await statusesOf(reader)).toEqual(DOCUMENTS.map(() => 200));
    const page = await reader.ask(PATH);
    expect(page.text).toContain(SECRET_NAME);
    expect(page.headers.get('cache-control')).toBe('private, no-store');
    expect(page.headers.get('x-robots-tag')).toBe('noindex');
    expect(page.headers.get('access-control-allow-origin')).toBeNull();
  });

  test('has a cookie for this host alone, which scripts cannot read', async () => {
    const reader = pages.visitor();
    const { text } = await reader.ask(`${PATH}/access`);
    const response = await fetch(`${pages.api.url}${PATH}/access`, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie: `svc-visitor=${reader.cookies.get('svc-visitor')}` },
      body: new URLSearchParams({ ...hiddenFields(text), password: PASSWORD }),
    });
    const set = response.headers.getSetCookie().find((cookie) => cookie.startsWith('svc-page-'));
    expect(set).toMatch(/^svc-page-\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=1209600$/);
  });

  test('brings visitors back to the page that they asked for, and never anywhere else', async () => {
    const visitor = pages.visitor();
    const asked = await visitor.ask(`${PATH}/days/7`);
    expect(asked.headers.get('location')).toBe(`${PATH}/access?to=%2Fdays%2F7`);
    const answer = await visitor.submit(`${PATH}/access?to=%2Fdays%2F7`, { password: PASSWORD });
    expect(answer.headers.get('location')).toBe(`${PATH}/days/7`);
    for (const to of ['//evil.example', 'https://evil.example', '/\\evil.example', '/../../v1/monitors']) {
      const answer = await pages.visitor().submit(`${PATH}/access?to=${encodeURIComponent(to)}`, {
        password: PASSWORD,
      });
      expect(answer.headers.get('location'), to).toBe(PATH);
    }
  });

  test('takes the password from programs as HTTP Basic authentication, with the same limits', async () => {
    const reader = pages.visitor({
      authorization: `Basic ${Buffer.from(`x:${PASSWORD}`).toString('base64')}`,
    });
    expect((await reader.ask(`${PATH}/feed.atom`)).status).toBe(200);
    const stranger = pages.visitor({ authorization: `Basic ${Buffer.from('x:wrong').toString('base64')}` });
    const statuses: number[] = [];
    for (let n = 0; n < 4; n += 1) statuses.push((await stranger.ask(`${PATH}/feed.atom`)).status);
    expect(statuses).toEqual([401, 401, 401, 429]);
    const asked = await pages.visitor().ask(`${PATH}/feed.atom`);
    expect(asked.headers.get('www-authenticate')).toBe('Basic realm="status page", charset="UTF-8"');
  });

  test('makes a guesser wait longer and longer, also with the right password', async () => {
    const guesser = pages.visitor();
    const waits: (string | null)[] = [];
    for (let n = 0; n < 5; n += 1) {
      const { status, headers } = await signIn(guesser, `guess ${n}`);
      expect(status).toBe(n < 3 ? 403 : 429);
      if (status === 429) waits.push(headers.get('retry-after'));
    }
    expect((await signIn(guesser)).status).toBe(429);
    pages.api.clock.advance(5_000);
    expect((await signIn(guesser, 'guess')).status).toBe(403);
    waits.push((await signIn(guesser)).headers.get('retry-after'));
    pages.api.clock.advance(10_000);
    expect((await signIn(guesser)).status).toBe(303);
    expect(waits).toEqual(['5', '5', '10']);
  });

  test('limits concurrent guesses like others', async () => {
    const visitor = pages.visitor();
    const form = { ...hiddenFields((await visitor.ask(`${PATH}/access`)).text), password: 'guess' };
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => visitor.ask(`${PATH}/access`, { form })),
    );
    expect(answers.filter(({ status }) => status === 403)).toHaveLength(3);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(37);
  });

  test('never signs in with the session that a visitor brings along', async () => {
    const visitor = pages.visitor();
    const planted = 'A'.repeat(43);
    visitor.cookies.set(`svc-page-${pageId}`, planted);
    expect((await visitor.ask(PATH)).status).toBe(303);
    await signIn(visitor);
    const first = visitor.cookies.get(`svc-page-${pageId}`);
    expect(first).not.toBe(planted);
    // A visitor who is signed in and signs in again gets another session, and the first one ends.
    const before = pages.visitor();
    before.cookies.set(`svc-page-${pageId}`, first ?? '');
    const form = { ...hiddenFields((await pages.visitor().ask(`${PATH}/access`)).text) };
    expect(form).toHaveProperty('form_token');
    visitor.cookies.delete(`svc-page-${pageId}`);
    await visitor.ask(`${PATH}/access`);
    visitor.cookies.set(`svc-page-${pageId}`, first ?? '');
    const seeded = hiddenFields(
      (
        await pages
          .visitor({ cookie: `svc-visitor=${visitor.cookies.get('svc-visitor')}` })
          .ask(`${PATH}/access`)
      ).text,
    );
    await visitor.ask(`${PATH}/access`, { form: { ...seeded, password: PASSWORD } });
    expect(visitor.cookies.get(`svc-page-${pageId}`)).not.toBe(first);
    expect((await before.ask(PATH)).status).toBe(303);
  });

  test('is opened neither by a session of another page nor by one of the dashboard', async () => {
    await createResource(pages.api, 'svc_status_page', {
      title: 'Other',
      slug: 'other',
      access_type: 'password',
      password: 'another password',
    });
    const reader = pages.visitor();
    await signIn(reader);
    const [session] = [...reader.cookies.values()].slice(-1);
    for (const name of [`svc-page-${pageId + 1}`, 'svc-session']) reader.cookies.set(name, session ?? '');
    expect((await reader.ask('/status/other')).status).toBe(303);
    expect((await reader.ask('/v1/monitors')).status).toBe(401);
    expect((await reader.ask('/')).status).not.toBe(200);
  });

  test.each([
    ['another password', { access_type: 'password', password: 'a new one' }],
    ['another type', { access_type: 'email-domain', auth_email_domains: ['example.com'] }],
  ])('%s ends all sessions, even if it is undone', async (_change, members) => {
    const reader = pages.visitor();
    await signIn(reader);
    await changePage(members);
    expect(await statusesOf(reader)).not.toContain(200);
    await changePage({ access_type: 'password', password: PASSWORD });
    expect(await statusesOf(reader)).not.toContain(200);
  });

  test('keeps all sessions at other changes', async () => {
    const reader = pages.visitor();
    await signIn(reader);
    await changePage({ title: 'Renamed', access_type: 'password', password: PASSWORD });
    expect((await reader.ask(PATH)).status).toBe(200);
  });

  test('lets a visitor sign out, which ends the session', async () => {
    const reader = pages.visitor();
    await signIn(reader);
    const copy = pages.visitor();
    for (const [name, value] of reader.cookies) copy.cookies.set(name, value);
    expect((await reader.submit(`${PATH}/access/leave`)).status).toBe(303);
    expect((await reader.ask(PATH)).status).toBe(303);
    expect((await copy.ask(PATH)).status).toBe(303);
  });

  test.each([
    ['from another site', { headers: { origin: 'https://evil.example' } }],
    ['that a browser calls cross-site', { headers: { 'sec-fetch-site': 'cross-site' } }],
    ['without its token', { form: { form_token: '' } }],
    ['with the token of another visitor', { form: { form_token: 'x'.repeat(43) } }],
  ])(
    'a form %s is not taken',
    async (_how, { headers = {}, form = {} }: { headers?: object; form?: object }) => {
      const visitor = pages.visitor();
      const fields = hiddenFields((await visitor.ask(`${PATH}/access`)).text);
      const answer = await visitor.ask(`${PATH}/access`, {
        form: { ...fields, password: PASSWORD, ...form },
        headers: { ...headers },
      });
      expect(answer.status).toBe(403);
      expect((await visitor.ask(PATH)).status).toBe(303);
    },
  );

  test('does not read a body of a megabyte', async () => {
    const visitor = pages.visitor();
    const fields = hiddenFields((await visitor.ask(`${PATH}/access`)).text);
    const answer = await visitor.ask(`${PATH}/access`, {
      form: { ...fields, password: 'x'.repeat(1_000_000) },
    });
    expect(answer.status).toBe(413);
  });
});

describe('a page for mail domains', () => {
  beforeEach(() => declarePage({ access_type: 'email-domain', auth_email_domains: ['example.com'] }));

  const ask = (visitor: Visitor, address: string) => visitor.submit(`${PATH}/access`, { address });
  const textOf = ({ text }: { text: string }, address: string) =>
    text.replaceAll(address, 'ADDRESS').replace(/value="[^"]*"/g, '');

  /**
   * Asks for a link. Mails are queued in the order of the requests, so when this mail arrives, earlier ones
   * are queued too.
   */
  async function linkFor(address = 'ada@example.com'): Promise<string> {
    const before = pages.mailServer.mails.filter(({ to }) => to === address).length;
    await ask(pages.visitor(), address);
    for (let count = 1; ; count += 1) {
      const mails = (await pages.mailServer.received(count)).filter(({ to }) => to === address);
      if (mails.length > before) return linkOf(mails.at(-1));
    }
  }

  const queued = () => rowsOf(pages.api.store, 'deliveries');

  test('opens by the link in a mail, in the browser in which the button behind it is pressed', async () => {
    const link = await linkFor();
    expect(link).toMatch(/^\/status\/main\/access\/link\?token=[\w-]{43}$/);
    const reader = pages.visitor();
    const answer = await reader.submit(link);
    expect(answer.status).toBe(303);
    expect(answer.headers.get('location')).toBe(PATH);
    expect(await statusesOf(reader)).toEqual(DOCUMENTS.map(() => 200));
  });

  test('sends no news to other domains: a reader who subscribes such an address gets the same answer, but the address no mail', async () => {
    const reader = pages.visitor();
    await reader.submit(await linkFor());
    const subscribed = (address: string) => reader.submit(`${PATH}/subscribe`, { address });
    const [other, own] = [await subscribed('eve@example.org'), await subscribed('ada@example.com')];
    expect(other.status).toBe(200);
    expect(textOf(other, 'eve@example.org')).toBe(textOf(own, 'ada@example.com'));
    await pages.mailServer.received(2);
    const recipients = await rowsOf(pages.api.store, 'page_recipients');
    expect(recipients.map(({ address }) => address)).toEqual(['ada@example.com']);
  });

  test('keeps a link valid when a program opens it', async () => {
    const link = await linkFor();
    for (const method of ['GET', 'HEAD', 'GET'] as const) {
      const { status } = await pages.visitor().ask(link, { method });
      expect(status).toBe(200);
    }
    // A program that submits the form has no cookie of svc, unless it is a browser.
    expect((await pages.visitor().ask(link, { form: {} })).status).toBe(403);
    expect((await pages.visitor().submit(link)).status).toBe(303);
  });

  test('a link works once, even if two press the button at the same time', async () => {
    const link = await linkFor();
    const answers = await Promise.all([1, 2, 3].map(() => pages.visitor().submit(link)));
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 403, 403]);
    expect((await pages.visitor().submit(link)).status).toBe(403);
  });

  test('a link works for 15 minutes', async () => {
    const link = await linkFor();
    const other = await linkFor('bob@example.com');
    pages.api.clock.advance(15 * 60_000 - 1);
    expect((await pages.visitor().submit(link)).status).toBe(303);
    pages.api.clock.advance(1);
    expect((await pages.visitor().submit(other)).status).toBe(403);
  });

  test('a link of one page opens no other', async () => {
    await createResource(pages.api, 'svc_status_page', {
      title: 'Other',
      slug: 'other',
      access_type: 'email-domain',
      auth_email_domains: ['example.com'],
    });
    const link = await linkFor();
    expect((await pages.visitor().submit(link.replace('/main/', '/other/'))).status).toBe(403);
  });

  test('the answer is the same for every address, and no mail goes to others', async () => {
    const addresses = [
      'ada@example.com',
      'eve@evil.example',
      'eve@sub.example.com',
      'eve@example.com.evil.example',
    ];
    const answers: string[] = [];
    for (const address of addresses) {
      const answer = await ask(pages.visitor(), address);
      expect(answer.status).toBe(200);
      answers.push(textOf(answer, address));
    }
    expect(new Set(answers).size).toBe(1);
    await linkFor('bob@example.com');
    expect(await queued()).toHaveLength(2);
    expect((await rowsOf(pages.api.store, 'page_recipients')).map(({ address }) => address)).toEqual([
      'ada@example.com',
      'bob@example.com',
    ]);
  });

  test('one mailbox gets three mails an hour, and the answer does not say so', async () => {
    const answers: string[] = [];
    for (let n = 0; n < 6; n += 1) {
      const address = `ada+${n}@example.com`;
      answers.push(textOf(await ask(pages.visitor(), address), address));
    }
    expect(new Set(answers).size).toBe(1);
    await linkFor('bob@example.com');
    expect(await queued()).toHaveLength(4);
  });

  test('one visitor can ask for ten in an hour, whatever the addresses are', async () => {
    const visitor = pages.visitor();
    const statuses: number[] = [];
    for (let n = 0; n < 11; n += 1) statuses.push((await ask(visitor, `eve${n}@evil.example`)).status);
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 200), 429]);
  });

  test.each(['', 'ada', 'ada@evil.example@example.com', 'ada@example.com\nbcc: eve@evil.example'])(
    '%j is no address, which the form says',
    async (address) => {
      const answer = await ask(pages.visitor(), address);
      expect(answer.status).toBe(400);
      expect(answer.text).toContain('aria-invalid="true"');
    },
  );

  test('another list of domains ends all sessions and earlier links', async () => {
    const reader = pages.visitor();
    await reader.submit(await linkFor());
    const link = await linkFor('bob@example.com');
    expect((await reader.ask(PATH)).status).toBe(200);
    await changePage({ access_type: 'email-domain', auth_email_domains: ['example.org'] });
    expect((await reader.ask(PATH)).status).toBe(303);
    expect((await pages.visitor().submit(link)).status).toBe(403);
  });

  test('the host of a request does not get into a mail', async () => {
    const visitor = pages.visitor({ 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example' });
    await ask(visitor, 'ada@example.com');
    const [mail] = await pages.mailServer.received(1);
    expect(mail?.raw).not.toContain('evil.example');
    expect(mail?.parsed.parts[0]?.text).toMatch(/http:\/\/svc\.example\/status\/main\/access\/link\?token=/);
  });
});

test('a page without a password or domains is open, and has no form', async () => {
  await declarePage({});
  const visitor = pages.visitor();
  expect(await statusesOf(visitor)).toEqual(DOCUMENTS.map(() => 200));
  expect((await visitor.ask(`${PATH}/access`)).headers.get('location')).toBe(PATH);
});
