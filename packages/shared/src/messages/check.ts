import { z } from 'zod';
import { LIMITS } from '../limits.ts';

/**
 * The members that checks of all kinds have. A check is the part of a monitor that a probe needs, in the form
 * that a job contains. Its members have the names of the monitor's attributes. The values were validated when
 * the monitor was declared, so these schemas check only sizes and shapes. Time limits and latencies are in
 * milliseconds.
 */
const attempts = {
  /**
   * Maximum time of one attempt, including DNS and the body. The value is never
   * 0 here: the coordinator replaces 0 by the default before it sends the job.
   */
  timeout: z.number().int().min(1).max(LIMITS.timeoutMs),
  retry: z.number().int().min(0).max(LIMITS.retries),
  /** Latency above which the outcome is degraded. 0: no latency makes the outcome degraded. */
  degraded_at: z.number().min(0),
};

const keyValue = z.object({
  key: z.string().max(LIMITS.headerValueBytes),
  value: z.string().max(LIMITS.headerValueBytes),
});

export const NUMBER_COMPARATORS = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte'] as const;
export const STRING_COMPARATORS = [
  'contains',
  'not_contains',
  'eq',
  'neq',
  'empty',
  'not_empty',
  'gt',
  'gte',
  'lt',
  'lte',
] as const;
export const RECORD_COMPARATORS = ['eq', 'neq', 'contains', 'not_contains'] as const;
export const RECORD_TYPES = ['A', 'AAAA', 'CNAME', 'MX', 'TXT'] as const;
export const HTTP_METHODS = ['GET', 'POST', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

export type NumberComparator = (typeof NUMBER_COMPARATORS)[number];
export type StringComparator = (typeof STRING_COMPARATORS)[number];
export type RecordComparator = (typeof RECORD_COMPARATORS)[number];
export type RecordType = (typeof RECORD_TYPES)[number];

const statusCodeAssertion = z.object({
  target: z.number().int(),
  comparator: z.enum(NUMBER_COMPARATORS),
});
const bodyAssertion = z.object({ target: z.string(), comparator: z.enum(STRING_COMPARATORS) });
const headerAssertion = z.object({
  key: z.string(),
  target: z.string(),
  comparator: z.enum(STRING_COMPARATORS),
});
const recordAssertion = z.object({
  record: z.enum(RECORD_TYPES),
  target: z.string(),
  comparator: z.enum(RECORD_COMPARATORS),
});

const httpCheck = z.object({
  type: z.literal('http'),
  url: z.string().max(2 * LIMITS.target),
  method: z.enum(HTTP_METHODS),
  headers: z.array(keyValue).max(LIMITS.headers),
  body: z.string().max(LIMITS.requestBodyBytes),
  follow_redirects: z.boolean(),
  status_code_assertions: z.array(statusCodeAssertion).max(LIMITS.assertions),
  body_assertions: z.array(bodyAssertion).max(LIMITS.assertions),
  header_assertions: z.array(headerAssertion).max(LIMITS.assertions),
  /**
   * A check that passes is degraded when the certificate expires in fewer days than this. Absent: the expiry
   * is not checked.
   */
  certificate_expiry_days: z.number().int().min(1).max(LIMITS.certificateExpiryDays).optional(),
  ...attempts,
});

const tcpCheck = z.object({
  type: z.literal('tcp'),
  uri: z.string().max(2 * LIMITS.target),
  ...attempts,
});

const dnsCheck = z.object({
  type: z.literal('dns'),
  uri: z.string().max(2 * LIMITS.target),
  record_assertions: z.array(recordAssertion).max(LIMITS.assertions),
  ...attempts,
});

export const check = z.discriminatedUnion('type', [httpCheck, tcpCheck, dnsCheck]);

export type HttpCheck = z.infer<typeof httpCheck>;
export type TcpCheck = z.infer<typeof tcpCheck>;
export type DnsCheck = z.infer<typeof dnsCheck>;
export type Check = z.infer<typeof check>;
/** Kind of a check. The monitor of the check has the same kind. */
export const checkKind = z.enum(check.options.map(({ shape }) => shape.type.value));
export type CheckKind = z.infer<typeof checkKind>;
export type CheckOf<T extends CheckKind> = Extract<Check, { type: T }>;
/** The members that checks of all kinds have in common. */
export type Attempts = Pick<Check, keyof typeof attempts>;
