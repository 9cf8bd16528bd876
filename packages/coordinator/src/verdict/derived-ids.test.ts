import { Secret } from '@svc/shared/secret.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type AlertIdentity, DerivedIds } from './derived-ids.ts';

const INSTALLATION = '5f0c2a9be1d74836';
const idsOf = (key: number, installation = INSTALLATION) =>
  new DerivedIds(installation, new Secret(Buffer.alloc(32, key)));
const IDS = idsOf(1);

const id = fc.integer({ min: 1, max: 5 });
const alert = fc.record({
  monitorId: id,
  notificationId: id,
  linkVersion: id,
  incident: fc.constantFrom('a', 'b'),
  status: fc.constantFrom('error', 'degraded', 'recovered'),
  statusSlot: id,
}) satisfies fc.Arbitrary<AlertIdentity>;

test('an alert has one id however often it is derived, and every other alert another one', () => {
  fc.assert(
    fc.property(alert, alert, (one, other) => {
      expect(IDS.alertId({ ...one })).toBe(IDS.alertId(one));
      const isSame = JSON.stringify(one) === JSON.stringify(other);
      expect(IDS.alertId(one) === IDS.alertId(other)).toBe(isSame);
      expect(idsOf(2).alertId(one)).not.toBe(IDS.alertId(one));
    }),
  );
});

test('an incident has one key, which names its installation and monitor', () => {
  const key = IDS.incidentKey(12, 1_700_000_000_000);
  expect(key).toMatch(/^5f0c2a9be1d74836:12:[0-9a-f-]{36}$/);
  expect(IDS.incidentKey(12, 1_700_000_000_000)).toBe(key);
  const others = [
    IDS.incidentKey(12, 1_700_000_000_001),
    IDS.incidentKey(13, 1_700_000_000_000),
    idsOf(2).incidentKey(12, 1_700_000_000_000),
  ];
  expect(new Set([key, ...others]).size).toBe(4);
  // 255 characters is the bound of PagerDuty, which is the lowest bound of all receivers.
  expect(IDS.incidentKey(Number.MAX_SAFE_INTEGER, 0).length).toBeLessThanOrEqual(255);
});

test('the kinds of message share no id', () => {
  const ids = [IDS.noticeId('1', 2), IDS.newsId('1', 2), IDS.incidentKey(1, 2).slice(-36)];
  expect(new Set(ids).size).toBe(3);
});
