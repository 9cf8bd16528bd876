import { afterEach, describe, expect, test } from 'vitest';
import { startAlertmanager } from '../support/alertmanager.ts';
import { findProgram } from '../support/real-dns-server.ts';
import { Opsgenie } from '../support/vendors/opsgenie.ts';
import { PagerDuty } from '../support/vendors/pagerduty.ts';
import { serveVendor, type VendorServer } from '../support/vendors/serve.ts';

/*
 * The other tests use imitations of the vendors, which are built only from the vendors' documents.
 * Alertmanager is written by others and works with the real vendors. So the imitations must understand its
 * requests.
 */

const KEY = '0123456789abcdef0123456789abcdef';
const program = findProgram('prometheus-alertmanager');
const skips = program === null && process.env.CI !== 'true';
if (program === null) console.warn('skipped: prometheus-alertmanager is not installed');

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function told(receiver: (url: string) => object, server: VendorServer) {
  closing.push(() => server.close());
  if (program === null) throw new Error('prometheus-alertmanager is not installed');
  const alertmanager = await startAlertmanager(program, receiver(server.url));
  closing.push(() => alertmanager.stop());
  return alertmanager;
}

describe('Alertmanager is understood', () => {
  test.skipIf(skips)("by the tests' PagerDuty", async () => {
    const vendor = new PagerDuty([KEY]);
    const server = await serveVendor(vendor);
    const config = { routing_key: KEY, client_url: 'http://am.example' };
    const alertmanager = await told(
      (url) => ({ pagerduty_configs: [{ ...config, url: `${url}/v2/enqueue` }] }),
      server,
    );
    await alertmanager.tell('Shop', 'firing');
    await server.received(1);
    expect(vendor.incidents).toMatchObject([{ state: 'triggered', triggers: 1 }]);
    await alertmanager.tell('Shop', 'over');
    await server.received(2);
    expect(vendor.incidents).toMatchObject([{ state: 'resolved' }]);
  });

  test.skipIf(skips)("by the tests' Opsgenie", async () => {
    const vendor = new Opsgenie([KEY]);
    const server = await serveVendor(vendor);
    const config = { api_key: KEY, update_alerts: true, priority: 'P1', tags: 'a,b' };
    const alertmanager = await told(
      (url) => ({ opsgenie_configs: [{ ...config, api_url: `${url}/` }] }),
      server,
    );
    await alertmanager.tell('Shop', 'firing');
    // Three requests: the creation, and the changes of message and description.
    await server.received(3);
    expect(vendor.open).toMatchObject([{ priority: 'P1', count: 1 }]);
    await alertmanager.tell('Shop', 'over');
    await server.received(4);
    expect(vendor.alerts).toMatchObject([{ status: 'closed' }]);
    expect(vendor.failedRequests).toEqual([]);
  });
});
