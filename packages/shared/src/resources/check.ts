import { domainToASCII } from 'node:url';
import { LIMITS } from '../limits.ts';
import type { Check } from '../messages/check.ts';
import type { Monitor } from './registry.ts';
import { splitHostAndPort } from './texts.ts';

/**
 * The part of a monitor that probes need, as it travels in jobs. The default time-out is resolved, and
 * international names are in their ASCII form. It holds header values in clear text.
 */
export function toCheck(monitor: Monitor): Check {
  const attempts = {
    timeout: monitor.timeout === 0 ? LIMITS.defaultTimeoutMs : monitor.timeout,
    retry: monitor.retry,
    degraded_at: monitor.degraded_at,
  };
  switch (monitor.type) {
    case 'http':
      return {
        type: 'http',
        url: monitor.url,
        method: monitor.method,
        headers: monitor.headers,
        body: monitor.body,
        follow_redirects: monitor.follow_redirects,
        status_code_assertions: monitor.status_code_assertions,
        body_assertions: monitor.body_assertions,
        header_assertions: monitor.header_assertions,
        // The member is left out when it is off: a monitor that never had it is probed as before and keeps
        // its votes.
        ...(monitor.certificate_expiry_days === 0
          ? {}
          : { certificate_expiry_days: monitor.certificate_expiry_days }),
        ...attempts,
      };
    case 'tcp':
      return { type: 'tcp', uri: asciiHostAndPort(monitor.uri), ...attempts };
    case 'dns':
      return {
        type: 'dns',
        uri: asciiName(monitor.uri),
        record_assertions: monitor.record_assertions,
        ...attempts,
      };
    default:
      return monitor satisfies never;
  }
}

/**
 * Everything that decides what is probed and how it is judged, as text. When it changes, the monitor's
 * version grows and earlier votes end.
 *
 * Name, description, visibility, export and `active` are not part of it. Nor are periodicity and regions,
 * which decide when and where the probe runs. It holds header values in clear text.
 */
export function probeFingerprint(monitor: Monitor): string {
  return JSON.stringify(toCheck(monitor));
}

function asciiHostAndPort(uri: string): string {
  const parts = splitHostAndPort(uri);
  if (parts === null || parts.isBracketed) return uri;
  return `${asciiName(parts.host)}:${parts.port}`;
}

/**
 * Converts only names with other characters, because `domainToASCII` would also change ASCII names to lower
 * case.
 */
function asciiName(name: string): string {
  return /^[\u0000-\u007f]*$/.test(name) ? name : domainToASCII(name);
}
