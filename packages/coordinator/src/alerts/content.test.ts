import type { Alert } from '@svc/shared/channels/alert.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyText } from '../../../../test/support/any-text.ts';
import { FULL_ALERT } from '../../../../test/support/channel-sending.ts';
import { contentOf, type Fact, linesWithin, plainLine, plainText } from './content.ts';
import { testAlert } from './manual-deliveries.ts';
import { bytesUpTo } from './shortening.ts';

const PUBLIC_URL = 'https://svc.example';
const AT = 1_767_225_601_234;

const ALERT: Alert = {
  ...FULL_ALERT,
  latency: 1_234.5,
  degradedAt: 800,
  regions: [
    { region: 'hosta-fra', outcome: 'failed' },
    { region: 'hostb-par', outcome: 'failed' },
    { region: 'hosta-ams', outcome: 'passed' },
  ],
};

function textOf(alert: Alert): string {
  return plainText(contentOf(alert, PUBLIC_URL));
}

test('an error', () => {
  expect(textOf(ALERT)).toBe(`Error: Shop "größte" \u{1F6D2}
Problem: status code 503, expected 200
Status code: 503
Latency: 1234.5 ms (degraded above 800 ms)
HTTP target: https://shop.example/health?…
Regions: 2 of 3 (hosta-fra, hostb-par)
Failing since: 2026-01-01 00:00:01 UTC
https://svc.example/monitors/12/incident`);
});

test('a later alert of an incident says when the incident began; failed regions count for degraded', () => {
  const regions: Alert['regions'] = [
    { region: 'hosta-fra', outcome: 'degraded' },
    { region: 'hostb-par', outcome: 'failed' },
    { region: 'hosta-ams', outcome: 'passed' },
  ];
  const text = textOf({ ...ALERT, status: 'degraded', since: AT - 61_000, regions });
  expect(text).toContain('Degraded: Shop');
  expect(text).toContain('Regions: 2 of 3 (hosta-fra, hostb-par)');
  expect(text).toContain('Degraded since: 2026-01-01 00:00:01 UTC\nIncident began: 2025-12-31 23:59:00 UTC');
});

test('a recovery says how long the incident lasted', () => {
  const { errorMessage: _, ...passed } = ALERT;
  expect(
    textOf({ ...passed, status: 'recovered', statusCode: 200, since: AT - 3_900_000 }),
  ).toBe(`Recovered: Shop "größte" \u{1F6D2}
Status code: 200
Latency: 1234.5 ms (degraded above 800 ms)
HTTP target: https://shop.example/health?…
Regions: 1 of 3 (hosta-ams)
Recovered at: 2026-01-01 00:00:01 UTC
Incident began: 2025-12-31 22:55:01 UTC
Lasted: 1 h 5 min
https://svc.example/monitors/12`);
});

test('the end of an incident that did not recover gives its reason', () => {
  const { errorMessage: _, statusCode: __, latency: ___, ...rest } = ALERT;
  expect(
    textOf({ ...rest, status: 'recovered', closure: 'monitor-deleted', regions: [] }),
  ).toBe(`Closed: Shop "größte" \u{1F6D2}
Reason: the monitor was deleted
HTTP target: https://shop.example/health?…
Closed at: 2026-01-01 00:00:01 UTC
https://svc.example/monitors/12`);
});

test('a test alert says that it is a test', () => {
  expect(textOf(testAlert(AT, PUBLIC_URL))).toBe(`Test of this channel
Message: Test alert: nothing is wrong.
https://svc.example/`);
});

test('a late message says how late it is', () => {
  expect(textOf({ ...ALERT, delayedMs: 42 * 60_000 })).toContain('\nDelayed: sent 42 min late\n');
});

test('a message of svc about itself', () => {
  const notice = {
    title: 'A channel fails',
    lines: ['Ops (webhook) does not answer.', '', 'See its deliveries.'],
  };
  expect(textOf({ ...ALERT, notice })).toBe(`A channel fails
Note: Ops (webhook) does not answer.
Note: See its deliveries.
https://svc.example/`);
});

test('a message for many monitors: the facts that they share, then their names', () => {
  const monitors = Array.from({ length: 25 }, (_, index) => ({
    id: index + 1,
    name: index === 0 ? '' : `Shop ${index + 1}`,
    status: index < 24 ? ('error' as const) : ('recovered' as const),
    errorMessage: 'connection refused',
  }));
  const counts = { error: 24, degraded: 0, recovered: 1 };
  const group = { counts, monitors, shared: { host: 'shop.example' } };
  const text = textOf({ ...ALERT, group });
  expect(text).toMatch(
    /^25 monitors: 24 error, 1 recovered\nSame host: shop.example\nError: monitor 1 \(conn/,
  );
  expect(text).toMatch(
    /\nError: Shop 20 \(connection refused\)\nMore: 5 other monitors\nhttps:\/\/svc.example\/$/,
  );
  const shared = { errorMessage: 'connection refused' };
  expect(textOf({ ...ALERT, group: { ...group, shared } })).toContain(
    'Same error: connection refused\nError: monitor 1\nError: Shop 2\n',
  );
});

test.each([280, 400, 700, 2_000])(
  'a message of %d bytes names as many monitors as fit, and counts the others',
  (limit) => {
    const monitors = Array.from({ length: 100 }, (_, index) => ({
      id: index + 1,
      name: `A shop with a rather long name ${index + 1}`,
      status: 'error' as const,
    }));
    const group = {
      counts: { error: 500, degraded: 0, recovered: 0 },
      monitors,
      shared: { host: 'shop.example' },
    };
    const { facts } = contentOf({ ...ALERT, group, delayedMs: 120_000 }, PUBLIC_URL);
    const text = linesWithin(facts, plainLine, bytesUpTo(limit));
    const named = text.split('\n').filter((line) => line.startsWith('Error: ')).length;
    expect(named).toBeGreaterThan(0);
    expect(text).toMatch(/^Same host: shop.example\nError: A shop/);
    expect(text).toContain(`\nMore: ${500 - named} other monitors\nDelayed: sent 2 min late`);
  },
);

test('a group names each notice by its title', () => {
  const monitor = { id: 1, name: 'Shop', status: 'degraded' as const, notice: 'No data: Shop' };
  const counts = { error: 0, degraded: 0, recovered: 0, notices: 30 };
  const notice = { title: 'No data: Other', lines: [], facts: [] };
  const group = { counts, monitors: [monitor], shared: {} };
  expect(textOf({ ...ALERT, notice, group })).toBe(
    '30 monitors: 30 notices\nNotice: No data: Shop\nMore: 29 other monitors\nhttps://svc.example/',
  );
});

test('a reminder says that it is one, and how long the incident of each monitor lasts', () => {
  const reminder = { number: 1, lastsMs: 5_400_000 };
  expect(textOf({ ...ALERT, reminder })).toContain('Still failing: Shop');
  expect(textOf({ ...ALERT, reminder })).toContain('\nLasts: 1 h 30 min\n');
  expect(textOf({ ...ALERT, status: 'degraded', reminder })).toContain('Still degraded: Shop');
  const shop = { id: 7, name: 'Shop', status: 'error', errorMessage: 'refused', lastsMs: 3_600_000 } as const;
  const group = { counts: { error: 22, degraded: 0, recovered: 0 }, monitors: [shop], shared: {} };
  expect(textOf({ ...ALERT, reminder, group })).toMatch(
    /Reminder: 22 monitors: 22 error\nError: Shop, for 1 h \(refused\)\n/,
  );
});

test('the text of the link says where it leads', () => {
  const group = { counts: { error: 2, degraded: 0, recovered: 0 }, monitors: [], shared: {} };
  const called = (alert: Alert) => contentOf(alert, PUBLIC_URL).linkText;
  expect(called(ALERT)).toBe('Open the incident');
  expect(called({ ...ALERT, status: 'recovered' })).toBe('Open the monitor');
  expect(called({ ...ALERT, group })).toBe('Open svc');
  expect(called({ ...ALERT, notice: { title: 'A channel fails', lines: [] } })).toBe('Open svc');
  const about = { title: 'No data: Shop', lines: [], facts: [] };
  expect(called({ ...ALERT, notice: about })).toBe('Open the monitor');
  expect(called(testAlert(AT, PUBLIC_URL))).toBe('Open svc');
});

test('a region is named by the text that people see of it', () => {
  const text = 'Berlin office (office-berlin)';
  const regions: Alert['regions'] = [
    { region: 'hosta-fra', text: 'hosta-fra', outcome: 'failed' },
    { region: 'office-berlin', text, outcome: 'failed' },
  ];
  expect(textOf({ ...ALERT, regions })).toContain(`Regions: 2 of 2 (hosta-fra, ${text})`);
});

test('five regions are named, the others are counted', () => {
  const names = [
    'hosta-ams',
    'hosta-arn',
    'hosta-bom',
    'hosta-cdg',
    'hosta-dfw',
    'hosta-ewr',
    'hosta-fra',
  ] as const;
  const regions = names.map((region) => ({ region, outcome: 'failed' as const }));
  expect(textOf({ ...ALERT, regions })).toContain(
    'Regions: 7 of 7 (hosta-ams, hosta-arn, hosta-bom, hosta-cdg, hosta-dfw and 2 more)',
  );
});

test.each([
  ['no name', '', 'Error: monitor 12'],
  ['only invisible characters', '\u200b\u2060\u00ad \u{e0020}\u3164', 'Error: monitor 12'],
  ['characters that join others', 'a\u{1f468}\u200d\u{1f469}', 'Error: a\u{1f468}\u200d\u{1f469}'],
  ['line breaks and control characters', 'a\r\nBcc: x\u0000\u0007\u2028b', 'Error: a Bcc: x b'],
  ['characters that turn the text around', 'safe\u202Egnp.exe\u2066', 'Error: safegnp.exe'],
  ['half of a surrogate pair', 'a\uD83D', 'Error: a\uFFFD'],
])('a name with %s', (_, name, title) => {
  expect(contentOf({ ...ALERT, monitor: { ...ALERT.monitor, name } }, PUBLIC_URL).title).toBe(title);
});

test('the query and the user information of a target are not shown', () => {
  const monitor = { ...ALERT.monitor, url: 'https://user:pass@shop.example/health?key=s3cret' };
  const text = textOf({ ...ALERT, monitor });
  expect(text).toContain('HTTP target: https://…@shop.example/health?…\n');
  expect(text).not.toMatch(/user|pass\b|s3cret/);
});

test('every text is one line, whatever targets and users write', () => {
  const short = anyText({ maxLength: 60 });
  fc.assert(
    fc.property(short, short, short, (name, url, errorMessage) => {
      const { title, facts } = contentOf(
        { ...ALERT, errorMessage, monitor: { ...ALERT.monitor, name, url } },
        PUBLIC_URL,
      );
      const texts = [title, ...facts.map(({ text }) => text)];
      expect(texts).not.toContain('');
      expect(texts.join('').isWellFormed()).toBe(true);
      expect(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u.test(texts.join(''))).toBe(false);
    }),
  );
});

test.each(['https://svc.example/', 'https://svc.example'])('the link below %s', (publicUrl) => {
  expect(contentOf(ALERT, publicUrl).link).toBe('https://svc.example/monitors/12/incident');
});

describe('lines within a limit', () => {
  const facts: Fact[] = [
    { label: 'Error', text: 'x'.repeat(500), isAddress: false },
    { label: 'Status code', text: '503', isAddress: false },
    { label: 'Target', text: 'y'.repeat(2_000), isAddress: true },
  ];

  test('long texts are shortened first, and short ones stay', () => {
    const text = linesWithin(facts, plainLine, bytesUpTo(1_200));
    expect(text).toMatch(/^Error: x{500}\nStatus code: 503\nTarget: y{499}…$/);
  });

  test('facts that do not fit are left out from the end', () => {
    expect(linesWithin(facts, plainLine, bytesUpTo(60))).toBe(`Error: ${'x'.repeat(29)}…\nStatus code: 503`);
    expect(linesWithin(facts, plainLine, bytesUpTo(3))).toBe('');
  });

  test('the lines always fit', () => {
    const anyFacts = fc.array(
      fc.record({
        label: fc.string({ maxLength: 12 }),
        text: fc.string({ unit: 'grapheme' }),
        isAddress: fc.boolean(),
      }),
    );
    fc.assert(
      fc.property(anyFacts, fc.nat(400), (some, limit) => {
        expect(Buffer.byteLength(linesWithin(some, plainLine, bytesUpTo(limit)))).toBeLessThanOrEqual(limit);
      }),
    );
  });
});
