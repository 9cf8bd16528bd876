import { type Alert, alert as alertSchema } from '@svc/shared/channels/alert.ts';
import { jsonOrUndefined } from '@svc/shared/json.ts';
import { MASK } from '@svc/shared/secret.ts';
import { urlSecrets } from '@svc/shared/url-secrets.ts';
import { z } from 'zod';
import type { Secrets } from '../declaration/secrets.ts';

/*
 * Writes and reads alerts as JSON, as deliveries store them. If the address of a monitor contains a secret,
 * the JSON has the masked address, and the full address sealed as `sealed_url`.
 */

const PURPOSE = 'deliveries.url';

const sealed = z.object({ sealed_url: z.string() });

export function alertText(secrets: Secrets, alert: Alert): string {
  const { url } = alert.monitor;
  if (!urlSecrets.isIn(url)) return JSON.stringify(alert);
  return JSON.stringify({
    ...maskedAlert(alert),
    sealed_url: Buffer.from(secrets.seal(PURPOSE, url)).toString('base64'),
  });
}

/**
 * Returns the alert to send; null: the stored JSON is no alert that this version can read. The function does
 * not throw for such an alert, so that the deliveries of other alerts go on. If the sealed address does not
 * open, the alert has the masked address.
 */
export function openAlert(secrets: Secrets, text: string): Alert | null {
  const stored = jsonOrUndefined(text);
  const alert = alertSchema.safeParse(stored).data ?? null;
  const url = openedUrl(secrets, stored);
  return alert === null || url === null ? alert : { ...alert, monitor: { ...alert.monitor, url } };
}

/**
 * The alert with the secret parts of its address masked, for readers without access to secrets; null: this
 * version cannot read the alert.
 */
export function readMasked(text: string): Alert | null {
  const alert = alertSchema.safeParse(jsonOrUndefined(text)).data ?? null;
  return alert === null ? null : maskedAlert(alert);
}

/**
 * Returns the alert's text with its address sealed under the present key, as {@link alertText} writes it.
 * Null: the address of the alert has no secret, or this version cannot read the alert.
 */
export function resealedAlert(secrets: Secrets, text: string): string | null {
  const alert = openAlert(secrets, text);
  return alert === null || !urlSecrets.isIn(alert.monitor.url) ? null : alertText(secrets, alert);
}

function maskedAlert(alert: Alert): Alert {
  return { ...alert, monitor: { ...alert.monitor, url: urlSecrets.replaced(alert.monitor.url, MASK) } };
}

function openedUrl(secrets: Secrets, stored: unknown): string | null {
  const { data } = sealed.safeParse(stored);
  if (data === undefined) return null;
  try {
    return secrets.open(PURPOSE, Buffer.from(data.sealed_url, 'base64')).reveal();
  } catch {
    return null; // The sealed address does not open, so the alert is sent with the masked address.
  }
}
