import { LIMITS } from '../limits.ts';
import {
  type Check,
  HTTP_METHODS,
  type HttpCheck,
  NUMBER_COMPARATORS,
  STRING_COMPARATORS,
  type TcpCheck,
} from './check.ts';

/**
 * The check of an HTTP or TCP monitor, recognised by hand; null for all others. The schema judges those, and they
 * may be valid. The schema accepts every check that is not null here, and reads it in the same way.
 *
 * An agent reads one for each check that it makes: the schema takes some 4 of 19 KB of garbage (decision 0020).
 * Unknown members of the check are left out; those of its headers and assertions stay, where nobody looks.
 */
export function usualCheck(value: unknown): Check | null {
  if (!isRecord(value)) return null;
  if (value.type === 'http') return usualHttpCheck(value);
  return value.type === 'tcp' ? usualTcpCheck(value) : null;
}

function usualHttpCheck(value: Record<string, unknown>): HttpCheck | null {
  const { url, method, headers, body, follow_redirects, certificate_expiry_days } = value;
  const { status_code_assertions, body_assertions, header_assertions, timeout, retry, degraded_at } = value;
  if (
    !isText(url, 2 * LIMITS.target) ||
    !isOneOf(HTTP_METHODS, method) ||
    !isText(body, LIMITS.requestBodyBytes) ||
    typeof follow_redirects !== 'boolean' ||
    !isListOf(headers, LIMITS.headers, isHeader) ||
    !isListOf(status_code_assertions, LIMITS.assertions, isStatusCodeAssertion) ||
    !isListOf(body_assertions, LIMITS.assertions, isBodyAssertion) ||
    !isListOf(header_assertions, LIMITS.assertions, isHeaderAssertion) ||
    !isWhole(timeout, 1, LIMITS.timeoutMs) ||
    !isWhole(retry, 0, LIMITS.retries) ||
    !isDuration(degraded_at)
  ) {
    return null;
  }
  const check: HttpCheck = {
    type: 'http',
    url,
    method,
    headers,
    body,
    follow_redirects,
    status_code_assertions,
    body_assertions,
    header_assertions,
    timeout,
    retry,
    degraded_at,
  };
  if (certificate_expiry_days === undefined) return check;
  if (!isWhole(certificate_expiry_days, 1, LIMITS.certificateExpiryDays)) return null;
  check.certificate_expiry_days = certificate_expiry_days;
  return check;
}

function usualTcpCheck({ uri, timeout, retry, degraded_at }: Record<string, unknown>): TcpCheck | null {
  const isUsual =
    isText(uri, 2 * LIMITS.target) &&
    isWhole(timeout, 1, LIMITS.timeoutMs) &&
    isWhole(retry, 0, LIMITS.retries) &&
    isDuration(degraded_at);
  return isUsual ? { type: 'tcp', uri, timeout, retry, degraded_at } : null;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @param most in UTF-16 units */
export function isText(value: unknown, most: number): value is string {
  return typeof value === 'string' && value.length <= most;
}

export function isWhole(value: unknown, least: number, most: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
}

function isDuration(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && Number.isFinite(value);
}

function isOneOf<T extends string>(all: readonly T[], value: unknown): value is T {
  return all.includes(value as T);
}

function isListOf<T>(value: unknown, most: number, isItem: (item: unknown) => item is T): value is T[] {
  return Array.isArray(value) && value.length <= most && value.every(isItem);
}

function isHeader(value: unknown): value is HttpCheck['headers'][number] {
  return (
    isRecord(value) &&
    isText(value.key, LIMITS.headerValueBytes) &&
    isText(value.value, LIMITS.headerValueBytes)
  );
}

function isStatusCodeAssertion(value: unknown): value is HttpCheck['status_code_assertions'][number] {
  return (
    isRecord(value) && Number.isSafeInteger(value.target) && isOneOf(NUMBER_COMPARATORS, value.comparator)
  );
}

function isBodyAssertion(value: unknown): value is HttpCheck['body_assertions'][number] {
  return isRecord(value) && typeof value.target === 'string' && isOneOf(STRING_COMPARATORS, value.comparator);
}

function isHeaderAssertion(value: unknown): value is HttpCheck['header_assertions'][number] {
  return isBodyAssertion(value) && 'key' in value && typeof value.key === 'string';
}
