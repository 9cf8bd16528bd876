import type { PageMail } from '@svc/shared/channels/alert.ts';
import { Secret } from '@svc/shared/secret.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type ConfiguredStore,
  configuredStore,
  silentLog,
} from '../../../../../test/support/configured-store.ts';
import {
  createResource,
  removeResource,
  replaceResource,
} from '../../../../../test/support/declared-resources.ts';
import { addRows, rowsOf } from '../../../../../test/support/store-rows.ts';
import { TEST_IDS } from '../../../../../test/support/test-ids.ts';
import { MaintenanceWindows } from '../../declaration/notes/maintenance.ts';
import type { NewlyQueued } from '../../store/alerts/delivery-queue.ts';
import { recipientOf } from '../../store/declaration/channels.ts';
import { insertIncident, insertUpdate } from '../../store/incidents/incidents.ts';
import type { WindowContent } from '../../store/incidents/maintenance-windows.ts';
import { confirmSubscription, recipientAt, removeRecipient } from '../../store/pages/page-recipients.ts';
import { credentialVersion } from '../access/credential.ts';
import { recipientOfToken } from './mail-links.ts';
import { PageNews } from './news.ts';
import { announceRemoval } from './window-announcements.ts';

const KEY = new Secret(new Uint8Array(32).fill(7));
const LOOK_MS = 20_000;

let parts: ConfiguredStore;
let news: PageNews;
let queued: NewlyQueued[];
let held: Set<number>;
let pageId: number;
let monitorId: number;

beforeEach(async () => {
  parts = await configuredStore();
  queued = [];
  held = new Set();
  pageId = await createResource(parts, 'svc_status_page', { title: 'Example', slug: 'example' });
  monitorId = await shown('Shop');
  news = started();
  await news.newsQueued();
});
afterEach(async () => {
  await news.stop();
  await parts.dispose();
});

function started(): PageNews {
  const { store, secrets, clock } = parts;
  const made = new PageNews({
    isOfInstallation: true,
    store,
    secrets,
    ids: TEST_IDS,
    clock,
    log: silentLog,
    publicUrl: 'https://svc.example',
    key: KEY,
    isHeld: (id) => held.has(id),
    onQueued: (delivery) => queued.push(delivery),
  });
  made.start();
  return made;
}

/** Declares a monitor that the page shows. Returns the monitor's id. */
async function shown(name: string, { isPublic = true } = {}): Promise<number> {
  const id = await createResource(parts, 'svc_tcp_monitor', { name, public: isPublic });
  const component = { page_id: String(pageId), type: 'monitor', monitor_id: String(id) };
  await createResource(parts, 'svc_status_page_component', component);
  return id;
}

async function subscriber(
  address = 'ada@example.com',
  language = 'en',
  credential: string | null = null,
): Promise<number> {
  const now = parts.clock.wall();
  return parts.store.transaction(async (tx) => {
    const { id } = await recipientAt(tx, { pageId, address, language }, now);
    await confirmSubscription(tx, { id, pageId, credential }, now);
    return id;
  });
}

const setStatus = (id: number, status: string) =>
  parts.store.transaction((tx) =>
    tx.query(
      `INSERT INTO monitor_states (monitor_id, status, since) VALUES (?, ?, 0)
       ON CONFLICT (monitor_id) DO UPDATE SET status = excluded.status`,
      [id, status],
    ),
  );

async function look(): Promise<void> {
  parts.clock.advance(LOOK_MS);
  await news.newsQueued();
}

const mails = (): PageMail[] => queued.flatMap(({ alert }) => alert.letter ?? []);
const subjects = () => mails().map(({ subject }) => subject);

describe('changes of status', () => {
  test('are mailed to each subscriber once, and so is the recovery', async () => {
    const ids = [await subscriber(), await subscriber('bob@example.com')];
    await setStatus(monitorId, 'error');
    await look();
    await look();
    expect(queued.map(({ notificationId }) => recipientOf(notificationId))).toEqual(ids);
    expect(subjects()).toEqual(['Example: Shop is down', 'Example: Shop is down']);
    await setStatus(monitorId, 'active');
    await look();
    expect(subjects().slice(2)).toEqual(['Example: Shop works again', 'Example: Shop works again']);
  });

  test('that are reversed before a search are not mailed', async () => {
    await subscriber();
    await setStatus(monitorId, 'error');
    await setStatus(monitorId, 'active');
    await look();
    expect(queued).toEqual([]);
  });

  test('of several components come in one mail', async () => {
    await subscriber();
    const other = await shown('Search');
    await setStatus(monitorId, 'error');
    await setStatus(other, 'degraded');
    await look();
    expect(subjects()).toEqual(['Example: 2 changes']);
    expect(mails()[0]?.lines).toEqual([
      'Shop is down',
      'Search is degraded',
      expect.stringMatching(/^As of 1 Jan 2026, 00:00 UTC\.$/),
    ]);
  });

  test("are mailed in the subscriber's language, with a link that ends the subscription", async () => {
    const id = await subscriber('ada@example.com', 'de');
    await setStatus(monitorId, 'error');
    await look();
    const [mail] = mails();
    expect(mail?.subject).toBe('Example: Shop ist ausgefallen');
    const url = new URL(mail?.unsubscribe?.url ?? '');
    expect(`${url.origin}${url.pathname}`).toBe('https://svc.example/status/example/unsubscribe');
    expect(recipientOfToken(KEY, url.searchParams.get('token') ?? '')).toBe(id);
  });

  test('to unknown are not mailed, and neither is the return to the announced status', async () => {
    await subscriber();
    await setStatus(monitorId, 'error');
    await look();
    await setStatus(monitorId, 'unknown');
    await look();
    await setStatus(monitorId, 'error');
    await look();
    expect(subjects()).toEqual(['Example: Shop is down']);
  });

  test('are held during maintenance, and a difference after it is mailed', async () => {
    await subscriber();
    held.add(monitorId);
    await setStatus(monitorId, 'error');
    await look();
    expect(queued).toEqual([]);
    held.clear();
    await look();
    expect(subjects()).toEqual(['Example: Shop is down']);
  });

  test('are mailed although more monitors are held than one search reads', async () => {
    await subscriber();
    for (let count = 0; count < 500; count += 1) held.add(await shown(`Held ${count}`));
    const last = await shown('Search');
    await parts.store.transaction((tx) =>
      tx.runEach(
        "INSERT INTO monitor_states (monitor_id, status, since) VALUES (?, 'error', 0)",
        [...held, last].map((id) => [id]),
      ),
    );
    await look();
    expect(subjects()).toEqual(['Example: Search is down']);
  });

  test('are not mailed to addresses of a domain that may no longer read the page', async () => {
    await subscriber('ada@example.com');
    const reader = await subscriber('bob@example.org');
    await replaceResource(parts, 'svc_status_page', pageId, {
      title: 'Example',
      slug: 'example',
      access_type: 'email-domain',
      auth_email_domains: ['example.org'],
    });
    await setStatus(monitorId, 'error');
    await look();
    expect(queued.map(({ notificationId }) => recipientOf(notificationId))).toEqual([reader]);
  });

  test('of a page with a password are mailed to subscribers who knew this password', async () => {
    await subscriber('ada@example.com');
    await replaceResource(parts, 'svc_status_page', pageId, {
      title: 'Example',
      slug: 'example',
      access_type: 'password',
      password: 'first',
    });
    const credential = credentialVersion(KEY, pageId, { type: 'password', password: new Secret('first') });
    const reader = await subscriber('bob@example.com', 'en', credential);
    await setStatus(monitorId, 'error');
    await look();
    expect(queued.map(({ notificationId }) => recipientOf(notificationId))).toEqual([reader]);
  });

  test('of components that the page does not show are not mailed', async () => {
    await subscriber();
    const hidden = await shown('Internal', { isPublic: false });
    await setStatus(hidden, 'error');
    await look();
    expect(queued).toEqual([]);
    await parts.configuration.transaction({ workspaceId: parts.workspaceId, actor: 'api' }, (change) =>
      change.setAppearance(pageId, { published: false }, {}),
    );
    await setStatus(monitorId, 'error');
    await look();
    expect(queued).toEqual([]);
  });

  test('are mailed only to subscribers who confirmed', async () => {
    await parts.store.transaction((tx) =>
      recipientAt(tx, { pageId, address: 'eve@example.com', language: 'en' }, parts.clock.wall()),
    );
    await setStatus(monitorId, 'error');
    await look();
    expect(queued).toEqual([]);
  });

  test('of a removed component are forgotten', async () => {
    await subscriber();
    await setStatus(monitorId, 'error');
    await look();
    const [component] = await rowsOf(parts.store, 'components', { monitor_id: monitorId });
    await removeResource(parts, 'svc_status_page_component', component?.id ?? 0);
    const other = await shown('Search');
    await setStatus(other, 'error');
    await look();
    expect(await rowsOf(parts.store, 'page_told')).toEqual([
      { page_id: pageId, monitor_id: other, status: 'error' },
    ]);
  });
});

describe('many subscribers', () => {
  test('get their mails over several transactions, and a restart in between repeats none', async () => {
    for (let n = 0; n < 250; n += 1) await subscriber(`ada${n}@example.com`);
    await addRows(parts.store, 'page_announcements', {
      uid: 'one',
      page_id: pageId,
      content: JSON.stringify({ kind: 'changes', at: 0, changes: [{ name: 'Shop', status: 'error' }] }),
      created_at: 0,
    });
    news.findNews();
    await news.stop();
    const before = queued.length;
    news = started();
    await news.newsQueued();
    expect(before).toBeLessThanOrEqual(250);
    expect(queued).toHaveLength(250);
    expect(new Set(queued.map(({ uid }) => uid)).size).toBe(250);
    expect(await rowsOf(parts.store, 'page_announcements')).toEqual([]);
  });

  test('an announcement that is not JSON is left out, and the next one is sent', async () => {
    await subscriber();
    const content = JSON.stringify({
      kind: 'changes',
      at: 0,
      changes: [{ name: 'Shop', status: 'error' }],
    });
    const row = { page_id: pageId, created_at: 0 };
    await addRows(
      parts.store,
      'page_announcements',
      { ...row, uid: 'one', content: content.slice(1) },
      { ...row, uid: 'two', content },
    );
    news.findNews();
    await news.newsQueued();
    expect(queued).toHaveLength(1);
    expect(await rowsOf(parts.store, 'page_announcements')).toEqual([]);
  });

  test('a subscriber who leaves meanwhile gets no mail', async () => {
    const id = await subscriber();
    await subscriber('bob@example.com');
    await setStatus(monitorId, 'error');
    await parts.store.transaction((tx) => removeRecipient(tx, { id }));
    await look();
    expect(queued).toHaveLength(1);
  });
});

describe('updates of operators', () => {
  async function write(
    text: string,
    { pages = [pageId], at = 0, title = 'Slow shop' as string | null } = {},
  ) {
    const now = parts.clock.wall();
    const [component] = await rowsOf(parts.store, 'components');
    await parts.store.transaction(async (tx) => {
      const content = { title, impact: 'degraded', pageIds: pages } as const;
      const incident = await insertIncident(tx, parts.workspaceId, content, now);
      if (title === null)
        await tx.query('UPDATE incidents SET monitor_id = ? WHERE id = ?', [monitorId, incident]);
      const componentIds = [component?.id ?? 0];
      await insertUpdate(tx, incident, { state: 'identified', text, componentIds, at: now + at }, now);
    });
  }

  test('are mailed once, with the affected components', async () => {
    await subscriber();
    await write('We know the cause.\n\nA mend is on its way.');
    await look();
    await look();
    expect(subjects()).toEqual(['Example: Slow shop (Identified)']);
    expect(mails()[0]?.lines.slice(0, 4)).toEqual([
      'Identified: Slow shop',
      'We know the cause.',
      'A mend is on its way.',
      'Affects Shop',
    ]);
  });

  test('about a monitor are mailed from pages that show it, under its name', async () => {
    await subscriber();
    await write('We look at it.', { pages: [], title: null });
    await look();
    expect(subjects()).toEqual(['Example: Shop (Identified)']);
  });

  test('of another page, and about the past, are not mailed', async () => {
    await subscriber();
    const other = await createResource(parts, 'svc_status_page', { title: 'Other', slug: 'other' });
    await write('Elsewhere.', { pages: [other] });
    await write('Last week.', { at: -7 * 86_400_000 });
    await look();
    expect(queued).toEqual([]);
  });

  test('from before the first start are not mailed', async () => {
    await subscriber();
    await parts.store.transaction((tx) => tx.query("DELETE FROM facts WHERE key = 'updates_told'"));
    await news.stop();
    await write('Old news.');
    news = started();
    await news.newsQueued();
    await look();
    expect(queued).toEqual([]);
  });
});

describe('maintenance', () => {
  const HOUR_MS = 3_600_000;

  let windows: MaintenanceWindows;
  beforeEach(() => {
    const { store, effects, clock } = parts;
    windows = new MaintenanceWindows({ store, effects, clock, onRemoval: announceRemoval });
  });

  /** Makes a window that begins in an hour and lasts for an hour. */
  function planned(more: Partial<WindowContent> = {}): WindowContent {
    const now = parts.clock.wall();
    return {
      title: 'New disks',
      text: 'We change the disks.',
      startsAt: now + HOUR_MS,
      endsAt: now + 2 * HOUR_MS,
      timeZone: 'UTC',
      repeat: null,
      monitorIds: [monitorId],
      pageIds: [],
      componentIds: [],
      ...more,
    };
  }

  function plan(more: Partial<WindowContent> = {}): Promise<number> {
    return windows.transaction(parts.workspaceId, (change) => change.create(planned(more)));
  }

  function remove(id: number): Promise<void> {
    return windows.transaction(parts.workspaceId, (change) => change.remove(id, {}));
  }

  const stages = () => subjects().map((subject) => subject.replace(/.*\(/, '('));

  async function hourPasses(): Promise<void> {
    parts.clock.advance(HOUR_MS - LOOK_MS);
    await look();
  }

  test("is mailed when it is planned, begins and ends, in the subscriber's language", async () => {
    await subscriber();
    await subscriber('bob@example.com', 'de');
    await plan();
    await look();
    await look();
    expect(subjects()).toEqual([
      'Example: Maintenance: New disks (Planned)',
      'Example: Wartung: New disks (Geplant)',
    ]);
    expect(mails()[0]?.lines).toEqual([
      'Planned: New disks',
      '1 Jan 2026, 01:00 UTC to 1 Jan 2026, 02:00 UTC',
      'We change the disks.',
      'Affects Shop',
    ]);
    await hourPasses();
    await hourPasses();
    await hourPasses();
    expect(subjects().slice(2)).toEqual([
      'Example: Maintenance: New disks (In progress)',
      'Example: Wartung: New disks (Läuft)',
      'Example: Maintenance: New disks (Completed)',
      'Example: Wartung: New disks (Abgeschlossen)',
    ]);
  });

  test('a restart repeats nothing, and loses no end', async () => {
    await subscriber();
    await plan();
    await look();
    await hourPasses();
    await news.stop();
    parts.clock.advance(2 * HOUR_MS);
    news = started();
    await news.newsQueued();
    expect(stages()).toEqual(['(Planned)', '(In progress)', '(Completed)']);
  });

  test('that is removed while it runs ends then, for all subscribers who got its beginning', async () => {
    await subscriber();
    const id = await plan();
    await look();
    await hourPasses();
    parts.clock.advance(HOUR_MS / 2);
    await remove(id);
    await look();
    await look();
    expect(stages()).toEqual(['(Planned)', '(In progress)', '(Completed)']);
    expect(mails().at(-1)?.lines).toEqual([
      'Completed: New disks',
      '1 Jan 2026, 01:00 UTC to 1 Jan 2026, 01:30 UTC',
      'We change the disks.',
      'Affects Shop',
    ]);
  });

  test('that is removed before its beginning, or after its end was mailed, is no news', async () => {
    await subscriber();
    const early = await plan();
    await look();
    await remove(early);
    const over = await plan();
    await look();
    for (let hour = 0; hour < 3; hour += 1) await hourPasses();
    await remove(over);
    await look();
    expect(stages()).toEqual(['(Planned)', '(Planned)', '(In progress)', '(Completed)']);
  });

  test('that a page stops showing while it runs ends there', async () => {
    await subscriber();
    const other = await shown('Internal', { isPublic: false });
    const content = planned();
    const id = await windows.transaction(parts.workspaceId, (change) => change.create(content));
    await look();
    await hourPasses();
    await windows.transaction(parts.workspaceId, (change) =>
      change.replace(id, { ...content, monitorIds: [other] }, {}),
    );
    await look();
    await look();
    expect(stages()).toEqual(['(Planned)', '(In progress)', '(Completed)']);
  });

  test('of components that the page does not show is not mailed', async () => {
    await subscriber();
    const hidden = await shown('Internal', { isPublic: false });
    await plan({ monitorIds: [hidden] });
    await look();
    expect(queued).toEqual([]);
    await plan({ monitorIds: [hidden], pageIds: [pageId] });
    await look();
    expect(mails().map(({ lines }) => lines.at(-1))).toEqual(['We change the disks.']);
  });
});
