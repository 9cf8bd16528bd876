import { setTimeout as delay } from 'node:timers/promises';
import { Deliverer } from '@svc/coordinator/alerts/deliverer.ts';
import { createManualDeliveries } from '@svc/coordinator/alerts/manual-deliveries.ts';
import { CHANNELS } from '@svc/coordinator/alerts/registry.ts';
import { storedChannels } from '@svc/coordinator/alerts/stored-channels.ts';
import type { Alert, AlertStatus } from '@svc/shared/channels/alert.ts';
import { CHANNEL_KINDS, type ChannelKind } from '@svc/shared/channels/settings.ts';
import type { Notification } from '@svc/shared/resources/notification.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { FULL_ALERT, loopbackSender, PUBLIC_URL } from '../support/channel-sending.ts';
import { type ConfiguredStore, configuredStore, silentLog } from '../support/configured-store.ts';
import { queueAlerts } from '../support/coordinator/queue-alerts.ts';
import { TEST_IDS } from '../support/test-ids.ts';
import { keepsIncidents, type Life, STORIES, type Story, type VendorSide } from './lives/life.ts';
import { LIVES } from './lives/vendors.ts';

const MONITOR = 12;
/** Between two looks for whether all is sent, ms of the system's clock. */
const LOOK_EVERY_MS = 1;
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** One channel with a real store and deliverer, and the fake of its vendor. */
class Rig {
  readonly vendor: VendorSide<ChannelKind>;
  readonly #configured: ConfiguredStore;
  readonly #notificationId: number;
  #deliverer: Deliverer;

  private constructor(vendor: VendorSide<ChannelKind>, configured: ConfiguredStore, notificationId: number) {
    this.vendor = vendor;
    this.#configured = configured;
    this.#notificationId = notificationId;
    this.#deliverer = this.#create();
  }

  static async start<K extends ChannelKind>(kind: K, life: Life<K>): Promise<Rig> {
    const vendor = await life.start();
    closing.push(() => vendor.close());
    const configured = await configuredStore();
    closing.push(() => configured.dispose());
    const { configuration, workspaceId } = configured;
    const channel = { name: 'it', provider_type: kind, monitor_ids: [], settings: vendor.settings };
    // The compiler does not see that kind and settings belong together.
    const declared = channel as unknown as Notification;
    const id = await configuration.transaction({ workspaceId, actor: 'api' }, (change) =>
      change.create('svc_notification', declared),
    );
    const rig = new Rig(vendor, configured, id);
    closing.push(() => rig.kill());
    await rig.#deliverer.start();
    return rig;
  }

  #create(): Deliverer {
    const { store, secrets, clock } = this.#configured;
    return new Deliverer({
      store,
      secrets,
      ids: TEST_IDS,
      clock,
      log: silentLog,
      send: loopbackSender(this.vendor.operator),
      source: storedChannels(store, secrets),
      publicUrl: PUBLIC_URL,
      random: () => 0.5,
    });
  }

  /** Commits alerts. With `isKilled` the coordinator ends before it sends them. */
  async queue(statuses: readonly (AlertStatus | Partial<Alert>)[], isKilled = false): Promise<void> {
    const { store, clock } = this.#configured;
    const alerts = statuses.map((each) => ({
      notificationId: this.#notificationId,
      monitorId: MONITOR,
      alert: { ...FULL_ALERT, at: clock.wall(), ...(typeof each === 'string' ? { status: each } : each) },
    }));
    await queueAlerts(store, clock, isKilled ? { deliverQueued: () => {} } : this.#deliverer, alerts);
  }

  /** Ends the deliverer. It records nothing after this. */
  async kill(): Promise<void> {
    const stopped = this.#deliverer.stop();
    this.#configured.clock.advance(10_000);
    await stopped;
  }

  async startAgain(): Promise<void> {
    this.#deliverer = this.#create();
    await this.#deliverer.start();
  }

  /** Lets time pass until nothing is pending. */
  async settle(): Promise<void> {
    const { store, clock } = this.#configured;
    for (;;) {
      const pending = await store.read
        .selectFrom('deliveries')
        .select('id')
        .where('state', '=', 'pending')
        .executeTakeFirst();
      if (pending === undefined) return;
      await clock.advanceSettling(1_000);
      // A mail server greets after 100 ms. Looks without a pause would keep a processor busy meanwhile.
      await delay(LOOK_EVERY_MS);
    }
  }

  /** Lets so much time pass, ms. */
  pass(ms: number): Promise<void> {
    return this.#configured.clock.advanceSettling(ms);
  }

  async sendTest(): Promise<void> {
    const { store, clock } = this.#configured;
    const manual = createManualDeliveries({
      store,
      clock,
      deliverer: this.#deliverer,
      publicUrl: PUBLIC_URL,
    });
    const { result } = await manual.sendTest(this.#notificationId);
    expect(result.outcome).toBe('delivered');
  }
}

const CLOSED = { status: 'recovered', closure: 'monitor-deleted' } as const;

const TOLD: { readonly [S in Story]: (rig: Rig, closesIncidents: boolean) => Promise<void> } = {
  async 'error, degraded, recovered'(rig) {
    for (const status of ['error', 'degraded', 'recovered'] as const) {
      await rig.queue([status]);
      await rig.settle();
    }
  },
  async 'an escalation from degraded to error'(rig) {
    await rig.queue(['degraded']);
    await rig.settle();
    await rig.queue(['error']);
    await rig.settle();
  },
  async 'recovered during an outage of the vendor that began before the incident'(rig) {
    rig.vendor.goDown();
    await rig.queue(['error']);
    await rig.pass(30_000);
    await rig.queue(['recovered']);
    await rig.pass(30_000);
    rig.vendor.comeBack();
    await rig.settle();
  },
  async 'recovered during an outage of the vendor that began within the incident'(rig) {
    await rig.queue(['error']);
    await rig.settle();
    rig.vendor.goDown();
    await rig.queue(['degraded', 'recovered']);
    await rig.pass(60_000);
    rig.vendor.comeBack();
    await rig.settle();
  },
  async 'ended without a recovery'(rig, closesIncidents) {
    await rig.queue(['error']);
    await rig.settle();
    if (closesIncidents) await rig.queue([CLOSED]);
    await rig.settle();
  },
  async 'killed between the commit and the send'(rig) {
    await rig.queue(['error'], true);
    await rig.kill();
    await rig.startAgain();
    await rig.settle();
  },
  async 'killed between the send and its record'(rig) {
    const { taken, release } = rig.vendor.holdNext();
    await rig.queue(['error']);
    await taken;
    await rig.kill();
    release();
    await rig.startAgain();
    await rig.settle();
  },
  async 'two incidents, one after the other'(rig) {
    await rig.queue(['error']);
    await rig.settle();
    await rig.queue(['recovered']);
    await rig.settle();
    await rig.queue([{ status: 'error', incident: `${FULL_ALERT.incident}-next` }]);
    await rig.settle();
  },
  'a test': (rig) => rig.sendTest(),
};

describe.each(CHANNEL_KINDS)('%s', livesThrough);

function livesThrough<K extends ChannelKind>(kind: K): void {
  const life: Life<K> = LIVES[kind];

  test('the registry says whether its vendor keeps incidents, and whether people read it', () => {
    const closesIncidents = keepsIncidents(life);
    // The receiver of a webhook is a program.
    const isHuman = !closesIncidents && kind !== 'webhook';
    expect(CHANNELS[kind]).toMatchObject({ closesIncidents, isHuman });
  });

  test.each(STORIES)('%s', async (story) => {
    const rig = await Rig.start<K>(kind, life);
    await TOLD[story](rig, keepsIncidents(life));
    expect(rig.vendor.held()).toEqual(life.ends[story]);
  });
}
