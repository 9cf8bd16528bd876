import { z } from 'zod';
import { LIMITS } from '../limits.ts';
import { otlpEndpoint } from '../otlp/endpoint.ts';
import { PERIODICITIES } from '../periodicity.ts';
import { QUORUM_WORDS } from '../quorum.ts';
import { REGIONS } from '../regions.ts';
import { urlSecrets } from '../url-secrets.ts';
import { computed, optional, required, type Value, withDefault } from './definition.ts';
import { headerValue, lines, oneLine, outgoingHeaderName } from './texts.ts';
import { bool, choice, number, regionSet, text, textMap } from './values.ts';
import { expected } from './wording.ts';

export const MONITOR_STATUS_VALUES = ['active', 'degraded', 'error', 'unknown'] as const;

const QUORUMS: readonly string[] = [...QUORUM_WORDS, ...REGIONS.map((_, place) => String(place + 1))];

const quorumText = z
  .string({ error: expected('a string') })
  .refine(
    (given) => QUORUMS.includes(given),
    `must be majority, any, all or a number from 1 to ${REGIONS.length}`,
  )
  .meta({ enum: [...QUORUMS] });

/**
 * The quorum as users declare it. An attribute of Terraform has one type, so the normalized value is text, and
 * a number is taken as its digits.
 */
const quorum: Value<string> = {
  type: 'string',
  schema: z
    .union([number({ min: 1, max: REGIONS.length }).schema, quorumText], { error: expected('a string') })
    .transform(String)
    .pipe(quorumText),
  form: `\`majority\`, \`any\`, \`all\`, or a number from 1 to ${REGIONS.length}`,
};

/**
 * The attributes that all kinds of monitor share. In a definition, `naming` comes before a kind's own
 * attributes, and `running` after them.
 */
export const naming = {
  name: required(text({ min: 1, max: LIMITS.monitorName, check: oneLine }), 'Name that people see.'),
};

export const running = {
  periodicity: required(choice(PERIODICITIES), 'How often the monitor is checked.'),
  timeout: withDefault(
    number({ min: 0, max: LIMITS.timeoutMs, unit: 'ms' }),
    LIMITS.defaultTimeoutMs,
    'Time limit of one attempt, from the name resolution to the end of the body. 0 means the default.',
  ),
  degraded_at: withDefault(
    number({ min: 0, max: Number.MAX_SAFE_INTEGER, unit: 'ms', fraction: true }),
    0,
    'A check that passes and takes longer than this is degraded. 0 turns this off.',
    { label: 'Degraded above' },
  ),
  retry: withDefault(
    number({ min: 0, max: LIMITS.retries }),
    LIMITS.defaultRetries,
    'Number of further attempts after a failed one. The check fails when all attempts have failed.',
    { label: 'Further attempts' },
  ),
  active: withDefault(bool, false, 'Whether the monitor is checked.'),
  public: withDefault(
    bool,
    false,
    'Whether the name, state and history of the monitor may appear on public status pages.',
  ),
  description: optional(
    text({ max: LIMITS.monitorDescription, check: lines, multiline: true }),
    'Description that people see.',
  ),
  regions: optional(
    regionSet,
    'Regions that the monitor is checked from. The default is every region that has a live agent.',
  ),
  quorum: withDefault(
    quorum,
    'majority',
    'How many regions must fail for the status `error`, and fail or be slow for `degraded`: more than half of those that reported (`majority`), one (`any`), `all` of those that reported, or a number of regions. A number above the number of regions means `all`. A region that could not probe has not failed.',
    { label: 'Regions that must fail' },
  ),
  confirm_after: withDefault(
    number({ min: 1, max: LIMITS.slotsInARow }),
    1,
    'Checks in a row that must find a worse status before the status changes to `degraded` or `error`. The status, its incident and the uptime count from the first of them. Checks without enough reports neither count nor end the row.',
    { label: 'Confirm after' },
  ),
  recover_after: withDefault(
    number({ min: 1, max: LIMITS.slotsInARow }),
    1,
    'Checks in a row that must find a better status before the status changes back.',
    { label: 'Recover after' },
  ),
  otlp_endpoint: optional(
    text({ min: 1, max: LIMITS.target, check: otlpEndpoint, form: 'http(s) URL', secretPart: urlSecrets }),
    'OpenTelemetry endpoint (OTLP over HTTP, not gRPC) that the metrics of the monitor are exported to. A URL without a path, or with one that ends with `/`, gets `/v1/metrics`; a path is used as it is given.',
  ),
  otlp_headers: optional(
    textMap(LIMITS.headers, outgoingHeaderName, { maxBytes: LIMITS.headerValueBytes, check: headerValue }),
    'Headers sent with exports, for authentication or to name the tenant.',
    { sensitive: true },
  ),
  id: computed(text(), 'Id: a decimal number as a string.'),
  status: computed(choice(MONITOR_STATUS_VALUES), 'Status after the latest verdict.'),
};

/** Members that the API answers for a monitor in addition to its attributes. */
export const MONITOR_API_MEMBERS = ['regions_status', 'warnings', 'created_at', 'updated_at'];
