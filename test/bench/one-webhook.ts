import { Deliverer } from '@svc/coordinator/alerts/deliverer.ts';
import { createSender } from '@svc/coordinator/alerts/sender.ts';
import { createHttpPost } from '@svc/coordinator/outgoing/http-post.ts';
import type { Secrets } from '@svc/coordinator/store/declaration/secrets.ts';
import type { Store } from '@svc/coordinator/store/store.ts';
import type { NewDelivery } from '@svc/coordinator/verdict/writes.ts';
import { systemClock } from '@svc/shared/clock.ts';
import { createEgressGuard } from '@svc/shared/egress.ts';
import type { Logger } from '@svc/shared/log.ts';
import { Secret } from '@svc/shared/secret.ts';
import { loopbackParts } from '../support/channel-sending.ts';
import { TEST_IDS } from '../support/test-ids.ts';

const CHANNEL = 1;

/** One webhook of some monitors, with the delays of its alerts. */
export class OneWebhook {
  /** Time from the deciding report to the answer of the webhook, for each alert, ms. */
  readonly tookMs: number[] = [];
  readonly #deliverer: Deliverer;
  /** When the last report of the monitor with this outcome was handed to the recorder, epoch ms. */
  readonly #reportedAt = new Map<string, number>();

  private constructor(deliverer: Deliverer) {
    this.#deliverer = deliverer;
    deliverer.onRecorded(({ delivery, at, durationMs, result }) => {
      if (result.outcome !== 'delivered') return;
      const isDown = delivery.alert?.status === 'error';
      const reportedAt = this.#reportedAt.get(`${delivery.monitorId} ${isDown}`);
      if (reportedAt !== undefined) this.tookMs.push(at + durationMs - reportedAt);
    });
  }

  /** @param url URL that accepts every alert */
  static async linked(
    { store, secrets, log }: { readonly store: Store; readonly secrets: Secrets; readonly log: Logger },
    monitorIds: readonly number[],
    url: string,
  ): Promise<OneWebhook> {
    await store.commit([
      {
        sql: `INSERT INTO notifications (id, workspace_id, provider_type, settings_sealed, created_at, updated_at)
          VALUES (?, 1, 'webhook', x'00', 0, 0)`,
        rows: [[CHANNEL]],
      },
      // A monitor without a state would be linked to nothing.
      {
        sql: "INSERT INTO monitor_states (monitor_id, status, since) VALUES (?, 'active', 0)",
        rows: monitorIds.map((id) => [id]),
      },
      {
        sql: 'INSERT INTO links (monitor_id, notification_id, version) VALUES (?, ?, 1)',
        rows: monitorIds.map((id) => [id, CHANNEL]),
      },
    ]);
    const guard = createEgressGuard({ base: 'channel', deny: [], allow: ['127.0.0.0/8'] });
    const post = createHttpPost({ clock: systemClock, guard });
    const found = {
      workspaceId: 1,
      kind: 'webhook' as const,
      stoppedFor: null,
      groupsAlerts: false,
      kept: null,
      openSettings: () => ({
        kind: 'webhook' as const,
        settings: new Secret({ endpoint: url, headers: null }),
      }),
    };
    const deliverer = new Deliverer({
      store,
      secrets,
      ids: TEST_IDS,
      clock: systemClock,
      log,
      send: createSender(loopbackParts({ post })),
      source: { findChannel: async () => found },
      publicUrl: 'http://svc.example',
    });
    await deliverer.start();
    return new OneWebhook(deliverer);
  }

  /**
   * Notes that a report of the monitor is handed to the recorder. The report that makes the majority counts.
   */
  reported(monitorId: number, outcome: 'passed' | 'failed'): void {
    this.#reportedAt.set(`${monitorId} ${outcome === 'failed'}`, Date.now());
  }

  queued(delivery: NewDelivery): void {
    this.#deliverer.deliverQueued(delivery);
  }

  stop(): Promise<void> {
    return this.#deliverer.stop();
  }
}
