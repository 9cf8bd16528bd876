/** A coordinator whose start fails, or is cut short, leaves nothing running. */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Coordinator } from '@svc/coordinator/coordinator.ts';
import { systemClock } from '@svc/shared/clock.ts';
import { connectBus } from '@svc/shared/nats/nats-bus.ts';
import { NatsResultStreams } from '@svc/shared/nats/result-streams.ts';
import { Secret } from '@svc/shared/secret.ts';
import { pino } from 'pino';
import { expect, type TestContext, test } from 'vitest';
import { databaseOfProcess } from '../support/database.ts';
import { NO_EXPORT_SETTINGS } from '../support/export-settings.ts';
import { startNatsServer } from '../support/nats-server.ts';
import { type Opened, openedIn } from '../support/opened.ts';

const log = pino({ level: 'silent' });
const SECRET_KEY = randomBytes(32).toString('base64');

/** A server and a folder for several coordinators, one after the other. */
async function placeFor(context: TestContext) {
  const opened: Opened = openedIn(context);
  const nats = await startNatsServer();
  opened.push({ close: () => nats.dispose() });
  const folder = await mkdtemp(join(tmpdir(), 'svc-coordinator-'));
  opened.push({ close: () => rm(folder, { recursive: true, force: true }) });
  const database = await databaseOfProcess(folder);
  opened.push({ close: () => database.remove() });
  await writeFile(join(folder, 'svc.json'), '{}');
  return {
    folder,
    opened,
    async coordinator(port = 0) {
      const connectNats = async () => {
        const bus = await connectBus({ url: nats.url, name: 'coordinator', log });
        return { bus, streams: new NatsResultStreams(bus) };
      };
      const connected = await connectNats();
      const coordinator = new Coordinator({
        config: {
          listen: { host: '127.0.0.1', port },
          publicUrl: 'http://svc.test',
          config: join(folder, 'svc.json'),
          allowsDelete: false,
          trustedProxies: [],
          channelEgressAllow: [],
          chatHosts: [],
          probeCa: undefined,
          channelProxy: undefined,
          deadmanUrl: undefined,
          shards: undefined,
          noProxy: () => true,
          mailHelo: undefined,
          retentionDays: 14,
          resultsMaxBytes: 64 * 1024 ** 2,
          regionNoticeAfterMs: 1_800_000,
          extraRegions: [],
          metricsToken: undefined,
          database: database.url,
          secretKey: new Secret(SECRET_KEY),
          apiTokens: new Secret(['token-of-the-test-operator']),
          apiTokenFile: null,
          tls: null,
          previousSecretKey: null,
        },
        operator: {},
        ownExport: null,
        exports: NO_EXPORT_SETTINGS,
        nats: connected,
        connectNats,
        clock: systemClock,
        log,
        environment: {},
      });
      return { bus: connected.bus, coordinator };
    },
  };
}

/**
 * Expects that no coordinator holds the connection or the database any more, so that another one can use
 * both.
 */
async function expectFree(place: Awaited<ReturnType<typeof placeFor>>): Promise<void> {
  await writeFile(join(place.folder, 'svc.json'), '{}');
  const { coordinator } = await place.coordinator();
  const { url } = await coordinator.start();
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  await coordinator.stop();
}

test('when its port is in use', async (context) => {
  const place = await placeFor(context);
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  place.opened.push({ close: async () => void other.close() });
  const { bus, coordinator } = await place.coordinator((other.address() as AddressInfo).port);
  await expect(coordinator.start()).rejects.toThrow('EADDRINUSE');
  expect(bus.connection.isClosed()).toBe(true);
  await expectFree(place);
});

test('when its declared file has errors', async (context) => {
  const place = await placeFor(context);
  await writeFile(join(place.folder, 'svc.json'), '{"svc_http_monitor":{"web":{}}}');
  const { bus, coordinator } = await place.coordinator();
  await expect(coordinator.start()).rejects.toThrow('svc_http_monitor.web.url: is required');
  expect(bus.connection.isClosed()).toBe(true);
  await expectFree(place);
});

test('when it is stopped before it has started', async (context) => {
  const place = await placeFor(context);
  const { bus, coordinator } = await place.coordinator();
  const starting = coordinator.start().then(
    () => 'started',
    () => 'given up',
  );
  await coordinator.stop();
  expect(bus.connection.isClosed()).toBe(true);
  expect(await starting).toBeDefined();
  await expectFree(place);
});
