import type { FuzzTarget } from './target.ts';
import { ADDRESS, ADDRESS_LISTS, HOST_PORT } from './targets/addresses.ts';
import { API_BODY } from './targets/api-body.ts';
import { HTTP2_PREFACE, PROXY_TUNNEL } from './targets/connections.ts';
import { DECLARED_FILE, INSERTION } from './targets/declared-file.ts';
import { DNS_NAME, DNS_PACKET } from './targets/dns.ts';
import { HTTP_BODY } from './targets/http-body.ts';
import { HTTP_RESPONSE } from './targets/http-response.ts';
import { MESSAGES_OF_AGENTS, MESSAGES_TO_AGENTS, RESULTS, SUBJECTS } from './targets/messages.ts';
import { NATS_HEADERS } from './targets/nats-headers.ts';
import { OTLP_ANSWER } from './targets/otlp-answer.ts';
import { PROMETHEUS } from './targets/prometheus.ts';
import { HOSTS_FILE, RESOLV_CONF } from './targets/resolver-files.ts';
import { TERRAFORM_MESSAGE, TERRAFORM_VALUE } from './targets/terraform.ts';
import { COOKIES, MASKING, PROXIES, URL_SECRETS } from './targets/urls.ts';
import { CONDITIONS, ICON, MAIL_ADDRESS } from './targets/visitors.ts';

/** Every parser of svc that reads what others write. */
export const TARGETS: readonly FuzzTarget[] = [
  HTTP_RESPONSE,
  HTTP_BODY,
  HTTP2_PREFACE,
  PROXY_TUNNEL,
  COOKIES,
  DNS_PACKET,
  DNS_NAME,
  RESOLV_CONF,
  HOSTS_FILE,
  ADDRESS,
  ADDRESS_LISTS,
  HOST_PORT,
  PROXIES,
  URL_SECRETS,
  MASKING,
  DECLARED_FILE,
  INSERTION,
  API_BODY,
  MESSAGES_TO_AGENTS,
  MESSAGES_OF_AGENTS,
  RESULTS,
  SUBJECTS,
  NATS_HEADERS,
  PROMETHEUS,
  TERRAFORM_VALUE,
  TERRAFORM_MESSAGE,
  OTLP_ANSWER,
  MAIL_ADDRESS,
  ICON,
  CONDITIONS,
];
