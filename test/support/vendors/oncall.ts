import { z } from 'zod';
import type { ReceivedRequest } from '../receiver.ts';
import { type Vendor, type VendorAnswer, WindowLimit } from './vendor.ts';

/*
 * The formatted webhook of Grafana OnCall (engine/config_integrations/formatted_webhook.py
 * and its rate limits, read on 2026-11-21).
 */

export type OnCallAlertGroup = {
  /** `alert_uid`, which groups alerts. */
  readonly uid: string;
  readonly titles: string[];
  state: 'firing' | 'resolved';
};

const PER_FIVE_MINUTES = 300;

const payload = z.object({
  alert_uid: z.string().default(''),
  title: z.string().optional(),
  message: z.string().optional(),
  state: z.string().default(''),
  image_url: z.string().optional(),
  link_to_upstream_details: z.string().optional(),
});

export class OnCall implements Vendor {
  readonly groups: OnCallAlertGroup[] = [];
  readonly #path: string;
  readonly #limit: WindowLimit;

  /** @param path of the integration, with its token */
  constructor(path: string, now: () => number = () => 0) {
    this.#path = path;
    this.#limit = new WindowLimit(PER_FIVE_MINUTES, 300_000, now);
  }

  get firing(): OnCallAlertGroup[] {
    return this.groups.filter(({ state }) => state === 'firing');
  }

  answer({ method, path, headers, json }: ReceivedRequest): VendorAnswer {
    if (path !== this.#path) return { status: 403, body: `Integration key was not found: ${path}` };
    if (method !== 'POST') return { status: 405 };
    if (!this.#limit.take()) return { status: 429, body: 'Too many requests from this integration' };
    if (!/^application\/json\b/.test(headers['content-type'] ?? '')) return { status: 415 };
    const parsed = payload.safeParse(json);
    if (!parsed.success) return { status: 400, body: parsed.error.message };
    const { alert_uid: uid, title = '', state } = parsed.data;
    const isOver = state.toUpperCase() === 'OK';
    // Alerts without a key are never grouped.
    const group = uid === '' ? undefined : this.firing.find((each) => each.uid === uid);
    if (group === undefined)
      this.groups.push({ uid, titles: [title], state: isOver ? 'resolved' : 'firing' });
    else {
      group.titles.push(title);
      if (isOver) group.state = 'resolved';
    }
    return { status: 200, body: 'Ok.' };
  }
}
