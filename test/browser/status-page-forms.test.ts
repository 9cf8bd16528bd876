import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pageProblems } from '../support/browser/page-problems.ts';
import { nameOf, skipsBrowser, TestBrowser, VIEWS } from '../support/browser.ts';
import { createResource } from '../support/declared-resources.ts';
import { linkOf, VisitedPages } from '../support/visited-pages.ts';

const PASSWORD = 'correct horse battery staple';
const HOUR_MS = 3_600_000;

describe.skipIf(skipsBrowser)('the forms of status pages', () => {
  let pages: VisitedPages;
  let browser: TestBrowser;
  let mails = 0;

  beforeAll(async () => {
    pages = await VisitedPages.start();
    const page = (slug: string, members: Record<string, unknown>) =>
      createResource(pages.api, 'svc_status_page', { title: `Status of ${slug}`, slug, ...members });
    await page('secret', { access_type: 'password', password: PASSWORD });
    await page('team', { access_type: 'email-domain', auth_email_domains: ['example.com'] });
    await page('open', {});
    browser = await TestBrowser.launch();
  });
  afterAll(async () => {
    await browser?.close();
    await pages?.dispose();
  });

  async function nextLink(): Promise<string> {
    mails += 1;
    return `${pages.api.url}${linkOf((await pages.mailServer.received(mails)).at(-1))}`;
  }

  test.each(VIEWS.map((view) => [nameOf(view), view] as const))('work %s', async (_, view) => {
    // An hour passes before each view: a visitor may request mails for one view in an hour, but not for all.
    pages.api.clock.advance(HOUR_MS);
    const visitor = await browser.visitor(view);
    const { url } = pages.api;
    const page = await visitor.newPage();
    const title = (text: string) => page.getByRole('heading', { name: text, level: 1 }).waitFor();
    const press = (text: string) => page.getByRole('button', { name: text, exact: true }).click();
    const isGood = async (what: string) => expect(await pageProblems(page), what).toEqual([]);

    await page.goto(`${url}/status/secret`);
    await title('This status page is private');
    await isGood('password');
    await page.getByLabel('Password').fill('wrong');
    await press('Open the page');
    await page.getByRole('alert').getByText('This is not the password of the page.').waitFor();
    await isGood('wrong-password');
    await page.getByLabel('Password').fill(PASSWORD);
    await press('Open the page');
    await title('Status of secret');
    await page.getByRole('link', { name: 'Sign out' }).click();
    await title('Sign out');
    await isGood('sign-out');
    await press('Sign out');
    await title('This status page is private');

    await page.goto(`${url}/status/team`);
    await isGood('address');
    await page.getByLabel('E-mail address').fill('ada@example.com');
    await press('Send the link');
    await title('Check your mail');
    await isGood('mail-sent');
    await page.goto(await nextLink());
    await title('Open the status page');
    await isGood('link');
    await press('Open the page');
    await title('Status of team');

    await page.goto(`${url}/status/open`);
    await page.getByRole('link', { name: 'Subscribe' }).click();
    await title('Subscribe');
    await isGood('subscribe');
    await page.getByLabel('E-mail address').fill('ada@example.com');
    await press('Subscribe');
    await title('Check your mail');
    const link = await nextLink();
    await page.goto(link);
    await isGood('confirm');
    await press('Confirm');
    await title('You are subscribed');
    await isGood('confirmed');
    await page.goto(link);
    await press('Confirm');
    await title('This link does not work');
    await isGood('used-link');
    await visitor.close();
  });
});
