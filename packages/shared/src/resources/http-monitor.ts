import { LIMITS } from '../limits.ts';
import {
  type Attempts,
  HTTP_METHODS,
  type HttpCheck,
  NUMBER_COMPARATORS,
  STRING_COMPARATORS,
} from '../messages/check.ts';
import { HIDDEN_USER_INFO, urlSecrets } from '../url-secrets.ts';
import {
  type Normalized,
  type ResourceDefinition,
  type Rule,
  repeatedBlock,
  required,
  type SecretPart,
  withDefault,
} from './definition.ts';
import { MONITOR_API_MEMBERS, naming, running } from './monitor-common.ts';
import { headerName, headerValue, httpUrlWithUserInfo, probeHeaderName } from './texts.ts';
import { bool, choice, number, text } from './values.ts';

const headerKey = text({ min: 1, max: LIMITS.headerName, check: probeHeaderName, form: 'header name' });
/** The whole text is secret. Only the empty default is shown. */
const wholeText: SecretPart = {
  name: 'text',
  isIn: (text) => text !== '',
  replaced: (text, mask) => (text === '' ? '' : mask),
  left: () => '',
};

const assertionTarget = text({ max: LIMITS.assertionTarget, multiline: true });

/**
 * Limits the size of a monitor after its body and assertions were escaped for JSON, because a
 * job must fit into a NATS message.
 */
const fitsAJob: Rule = {
  description: 'The monitor as a whole, written as JSON, has at most 312 KiB.',
  check: (given) => {
    const bytes = Buffer.byteLength(JSON.stringify(given));
    return bytes <= LIMITS.checkBytes
      ? []
      : [{ path: [], message: `has ${bytes} bytes as JSON, but at most ${LIMITS.checkBytes} are allowed` }];
  },
};

export const httpMonitor = {
  kind: 'svc_http_monitor' as const,
  noun: 'monitor',
  path: '/v1/monitors',
  title: 'HTTP monitor',
  description:
    'Sends an HTTP request and judges the response. All assertions must hold. Without a status code assertion, a status from 200 to 299 is required.',
  constants: { type: 'http' as const },
  attributes: {
    ...naming,
    url: required(
      text({
        min: 1,
        max: LIMITS.target,
        check: httpUrlWithUserInfo,
        form: 'http(s) URL',
        secretPart: urlSecrets,
      }),
      'URL that is requested. User information in the URL is sent as Basic credentials, unless an `Authorization` header is configured.',
    ),
    method: withDefault(choice(HTTP_METHODS), 'GET', 'Request method.'),
    body: withDefault(
      text({
        maxBytes: LIMITS.requestBodyBytes,
        form: 'at most 256 KiB',
        multiline: true,
        secretPart: wholeText,
      }),
      '',
      'Request body. It is sent with POST, PUT, PATCH, DELETE and OPTIONS, and never with GET and HEAD.',
    ),
    follow_redirects: withDefault(bool, true, 'Whether redirects are followed. At most ten are followed.'),
    certificate_expiry_days: withDefault(
      number({ min: 0, max: LIMITS.certificateExpiryDays, unit: 'days' }),
      0,
      'A check that passes is degraded when the TLS certificate expires in fewer days than this. With redirects, the certificate that expires first counts. 0 turns this off.',
      { label: 'Degraded before the certificate expires' },
    ),
    ...running,
  },
  blocks: {
    headers: repeatedBlock(LIMITS.headers, 'Request headers.', {
      key: required(
        headerKey,
        'Header name. Headers of the connection itself, such as `Content-Length`, cannot be set.',
      ),
      value: required(
        text({ maxBytes: LIMITS.headerValueBytes, check: headerValue, form: 'at most 8 KiB' }),
        'Header value.',
        { secret: true },
      ),
    }),
    status_code_assertions: repeatedBlock(LIMITS.assertions, 'Assertions on the status code.', {
      target: required(number({ min: 100, max: 599 }), 'Status code to compare with.'),
      comparator: required(choice(NUMBER_COMPARATORS), 'How the status code is compared with the target.'),
    }),
    body_assertions: repeatedBlock(LIMITS.assertions, 'Assertions on the response body (its first 2 MiB).', {
      target: required(assertionTarget, 'String to compare with. `empty` and `not_empty` ignore it.'),
      comparator: required(choice(STRING_COMPARATORS), 'How the body is compared with the target.'),
    }),
    header_assertions: repeatedBlock(LIMITS.assertions, 'Assertions on response headers.', {
      key: required(
        text({ min: 1, max: LIMITS.headerName, check: headerName, form: 'header name' }),
        'Header name, in any case. A header that is absent is the empty string.',
      ),
      target: required(assertionTarget, 'String to compare with. `empty` and `not_empty` ignore it.'),
      comparator: required(choice(STRING_COMPARATORS), 'How the header is compared with the target.'),
    }),
  },
  rules: [fitsAJob],
  apiMembers: [...MONITOR_API_MEMBERS, HIDDEN_USER_INFO],
} satisfies ResourceDefinition;

export type HttpMonitor = Normalized<typeof httpMonitor>;

export function httpCheckOf(monitor: HttpMonitor, attempts: Attempts): HttpCheck {
  const { certificate_expiry_days } = monitor;
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
    // The value 0 is left out, so that the attribute's introduction changed no fingerprint and ended no
    // votes.
    ...(certificate_expiry_days === 0 ? {} : { certificate_expiry_days }),
    ...attempts,
  };
}
