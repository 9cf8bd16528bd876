import { LIMITS } from '../limits.ts';
import type { Check, CheckKind } from '../messages/check.ts';
import { MONITORS, type Monitors } from './monitors.ts';
import type { Monitor } from './registry.ts';

/**
 * The part of a monitor that probes need, as it travels in jobs. The default time-out is resolved, and
 * international names are in their ASCII form. The check contains secrets in clear text: header values,
 * bodies and user information.
 */
export function toCheck(monitor: Monitor): Check {
  return checkOf(monitor.type, monitor);
}

function checkOf<T extends CheckKind>(type: T, monitor: Monitors[T]): Check {
  const { timeout, retry, degraded_at } = monitor;
  const attempts = { timeout: timeout === 0 ? LIMITS.defaultTimeoutMs : timeout, retry, degraded_at };
  return MONITORS[type].checkOf(monitor, attempts);
}

/**
 * The target as alerts show it: the URL of an HTTP monitor without user information, the URI of any other.
 */
export function targetOf(monitor: Monitor): string {
  return targetOfType(monitor.type, monitor);
}

function targetOfType<T extends CheckKind>(type: T, monitor: Monitors[T]): string {
  return MONITORS[type].targetOf(monitor);
}

/**
 * All attributes that decide what is probed and how the answer is judged, as one text. When this text
 * changes, the monitor's version grows and earlier votes end.
 *
 * The text does not contain name, description, visibility, export and `active`, nor periodicity and regions,
 * which decide when and where the probe runs, nor the quorum, which judges votes. It contains secrets in clear text, such as header values.
 */
export function probeFingerprint(monitor: Monitor): string {
  return JSON.stringify(toCheck(monitor));
}
