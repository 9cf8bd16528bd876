import { expect, test } from 'vitest';
import type { DeliveryView } from '../api/routes/deliveries.ts';
import { deliveriesList } from './deliveries-list.ts';

type Alert = NonNullable<DeliveryView['alert']>;

function textOf(alert: Partial<Alert> | null): string {
  const whole: Alert = {
    monitor: { id: 12, name: 'Shop', url: 'https://shop.example/', type: 'http' },
    status: 'error',
    cronTimestamp: 1_000,
    at: 1_000,
    reason: 'majority-failed',
    incident: 'a',
    regions: [],
  };
  const delivery: DeliveryView = {
    ...{ id: '91', webhook_id: 'w', notification_id: '3', monitor_id: '12', state: 'pending', attempts: [] },
    ...{ next_attempt_at: null, last_error: null, created_at: 1_000, replayed_at: null, finished_at: null },
    alert: alert === null ? null : { ...whole, ...alert },
  };
  const [, text = ''] = /log-text">([^<]*)</.exec(String(deliveriesList([delivery], new Map()))) ?? [];
  return text.replace(/, not tried$/, '');
}

const notice = { title: 'No data: Shop', lines: [], facts: [{ label: 'Status', text: 'unknown' }] };

test.each<[string, Partial<Alert> | null, string]>([
  ['an alert', {}, 'Alert: down'],
  ['a recovery', { status: 'recovered' }, 'Alert: recovered'],
  ['a closure', { status: 'recovered', closure: 'monitor-deactivated' }, 'Closed: monitor deactivated'],
  ['a reminder', { reminder: { number: 1, lastsMs: 3_600_000 } }, 'Reminder: still down'],
  ['a notice', { status: 'degraded', notice }, 'Notice: No data: Shop'],
  ['an alert of a newer version', null, 'An alert that this version cannot read'],
])('a delivery says what was sent: %s', (_, alert, text) => {
  expect(textOf(alert)).toBe(text);
});
