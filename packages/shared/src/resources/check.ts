import { LIMITS } from '../limits.ts';
import type { Check, CheckKind } from '../messages/check.ts';
import { MONITORS, type Monitors } from './monitors.ts';
import type { Monitor } from './registry.ts';

/**
 * What probes need of a monitor, as it travels in jobs: the time-out's default resolved, international
 * names in their ASCII form. Carries header values in clear.
 */
export function toCheck(monitor: Monitor): Check {
  return checkOf(monitor.type, monitor);
}

function checkOf<T extends CheckKind>(type: T, monitor: Monitors[T]): Check {
  const { timeout, retry, degraded_at } = monitor;
  const attempts = { timeout: timeout === 0 ? LIMITS.defaultTimeoutMs : timeout, retry, degraded_at };
  return MONITORS[type].checkOf(monitor, attempts);
}

/** URL, without user information, or URI: what a monitor is known by in alerts. */
export function targetOf(monitor: Monitor): string {
  return targetOfType(monitor.type, monitor);
}

function targetOfType<T extends CheckKind>(type: T, monitor: Monitors[T]): string {
  return MONITORS[type].targetOf(monitor);
}

/**
 * Exactly what is probed and how it is judged, as text: when it changes, the monitor's version grows
 * and earlier votes end. Name, description, visibility, export and whether it runs are no part of it;
 * periodicity and regions decide when and where, not what. Contains header values in clear.
 */
export function probeFingerprint(monitor: Monitor): string {
  return JSON.stringify(toCheck(monitor));
}
