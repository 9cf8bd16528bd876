import type { Alert } from '@svc/shared/channels/alert.ts';
import type { SendResult } from './channel.ts';
import type { Content } from './content.ts';

/**
 * Sends an alert to a service that keeps an incident open until it is told of its end. A test ends the incident
 * that it opened, so that nobody has to.
 */
export async function sendWithEnd(
  alert: Alert,
  send: (alert: Alert) => Promise<SendResult>,
): Promise<SendResult> {
  const opened = await send(alert);
  const isOpen = opened.outcome === 'delivered' && alert.status !== 'recovered';
  return isOpen && alert.test === true ? send({ ...alert, status: 'recovered' }) : opened;
}

/** One line: what has happened to which monitor, and why. */
export function summaryOf({ title, facts }: Content): string {
  const [first] = facts;
  return first === undefined || first.isAddress ? title : `${title}: ${first.text}`;
}

/** The facts as members of an object. */
export function detailsOf({ facts }: Content): Record<string, string> {
  return Object.fromEntries(facts.map(({ label, text }) => [label, text]));
}
