import { expect, test } from 'vitest';
import type { WindowTimes } from '../../verdict/maintenance-window.ts';
import { type AnnouncedWindow, windowNews } from './window-announcements.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ONCE: WindowTimes = {
  startsAt: 10 * HOUR_MS,
  endsAt: 12 * HOUR_MS,
  timeZone: 'UTC',
  repeat: null,
  endedAt: null,
};
const DAILY: WindowTimes = {
  ...ONCE,
  repeat: { frequency: 'daily', interval: 1, weekdays: [], week: null, until: null },
};

/** Returns the news by hour if svc searches every ten minutes for three days. */
function newsOver(times: (at: number) => WindowTimes, { since = 0, from = 0, createdAt = 0 } = {}): string[] {
  const news: string[] = [];
  let before: AnnouncedWindow | null = null;
  for (let now = from; now < 3 * DAY_MS; now += HOUR_MS / 6) {
    for (;;) {
      const found = windowNews({ times: times(now), createdAt, before, since, now });
      if (found === null) break;
      before = found.announced;
      news.push(`${now / HOUR_MS}: ${found.stage} ${found.from / HOUR_MS}–${found.until / HOUR_MS}`);
    }
  }
  return news;
}

test.each<[string, string[], string[]]>([
  ['a window', newsOver(() => ONCE), ['0: scheduled 10–12', '10: in_progress 10–12', '12: completed 10–12']],
  [
    'one that repeats is announced once',
    newsOver(() => DAILY),
    [
      ...['0: scheduled 10–12', '10: in_progress 10–12', '12: completed 10–12'],
      ...['34: in_progress 34–36', '36: completed 34–36', '58: in_progress 58–60', '60: completed 58–60'],
    ],
  ],
  [
    'one that began before the first search',
    newsOver(() => ONCE, { from: 11 * HOUR_MS }),
    ['11: in_progress 10–12', '12: completed 10–12'],
  ],
  [
    'a postponed one is announced again',
    newsOver((at) => (at < 9 * HOUR_MS ? ONCE : { ...ONCE, startsAt: 20 * HOUR_MS, endsAt: 21 * HOUR_MS })),
    ['0: scheduled 10–12', '9: scheduled 20–21', '20: in_progress 20–21', '21: completed 20–21'],
  ],
  [
    'one that is ended early',
    newsOver((at) => ({ ...ONCE, endedAt: at < 11 * HOUR_MS ? null : 11 * HOUR_MS })),
    ['0: scheduled 10–12', '10: in_progress 10–12', '11: completed 10–11'],
  ],
  ['one that is over before the first search', newsOver(() => ONCE, { from: 13 * HOUR_MS }), []],
  [
    'one from before the first start',
    newsOver(() => ONCE, { since: 5 * HOUR_MS, from: 5 * HOUR_MS }),
    ['10: in_progress 10–12', '12: completed 10–12'],
  ],
])('%s', (_name, news, expected) => {
  expect(news).toEqual(expected);
});
