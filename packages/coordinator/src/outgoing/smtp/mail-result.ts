import { SvcError } from '@svc/shared/errors.ts';
import { EXCERPT_BYTES, maskedExcerpt } from '@svc/shared/masking/mask.ts';
import type { SmtpRelay } from './relay.ts';

/** The step of the SMTP dialogue that the relay refused. */
export type MailStage = 'connection' | 'login' | 'sender' | 'recipient' | 'message';

/** Why the relay neither accepted nor refused the mail. */
export type MailFailure =
  | 'unresolved'
  | 'unreachable'
  | 'certificate'
  | 'timeout'
  | 'aborted'
  | 'broken'
  /** Other mails used all connections, so the relay was not reached. */
  | 'no-connection-free'
  /** The mail is larger than the maximum size that the relay had announced. */
  | 'too-large'
  /** The relay does not take the characters of an address. */
  | 'invalid-envelope';

/** What became of a mail. `error` names the cause for people, and contains no secret. */
export type MailResult =
  | { readonly kind: 'accepted' }
  | {
      readonly kind: 'refused';
      readonly stage: MailStage;
      /** Reply code, 400 to 599. */
      readonly code: number;
      /** Enhanced status code (RFC 3463), such as `5.1.1`; null: the relay gave no such code. */
      readonly enhanced: string | null;
      readonly error: string;
    }
  | { readonly kind: 'unanswered'; readonly failure: MailFailure; readonly error: string };

/**
 * svc itself ended the sending: at a time limit, while it stops, or because this coordinator does not lead.
 */
export class MailStopped extends SvcError {
  readonly failure: MailFailure;

  constructor(failure: MailFailure, message: string) {
    super('mail-stopped', message);
    this.failure = failure;
  }
}

/** An error of nodemailer or of a socket, with the members that svc reads. */
type SmtpError = Error & {
  readonly code?: string;
  readonly originalCode?: string;
  readonly command?: string;
  readonly response?: string;
  readonly responseCode?: number;
};

/** The result for an error. Its texts contain no secret, even if the relay's answer repeats one. */
export function mailFailure(error: unknown, credentials: SmtpRelay['credentials']): MailResult {
  if (error instanceof MailStopped) return unanswered(error.failure, error.message);
  if (!(error instanceof Error)) return unanswered('broken', 'the connection to the relay failed');
  // Several addresses were tried and failed. The error of the first address is reported.
  if (error instanceof AggregateError && error.errors.length > 0)
    return mailFailure(error.errors[0], credentials);
  const failed: SmtpError = error;
  const { responseCode: code = 0 } = failed;
  // RFC 5321, section 4.2, has no code above 599.
  return code >= 400 && code <= 599 ? refused(failed, code, credentials) : unansweredBy(failed);
}

function refused(error: SmtpError, code: number, credentials: SmtpRelay['credentials']): MailResult {
  const response = error.response ?? '';
  const stage = stageOf(error);
  const enhanced = /^\d{3}[ -]([245]\.\d{1,3}\.\d{1,3})\b/.exec(response)?.[1] ?? null;
  const excerpt = maskedExcerpt(response, secretsOf(credentials), EXCERPT_BYTES);
  return { kind: 'refused', stage, code, enhanced, error: `the relay refused ${WHAT[stage]}: ${excerpt}` };
}

const WHAT: Readonly<Record<MailStage, string>> = {
  connection: 'the connection',
  login: 'the user or the password of SVC_SMTP_URL',
  sender: 'the sender of SVC_MAIL_FROM',
  recipient: 'the recipient',
  message: 'the message',
};

function stageOf({ code, command }: SmtpError): MailStage {
  if (code === 'EAUTH') return 'login';
  if (command === 'MAIL FROM') return 'sender';
  if (command === 'RCPT TO') return 'recipient';
  return command === 'DATA' ? 'message' : 'connection';
}

/** The texts that are masked: the password as it is, as AUTH LOGIN sends it, and as AUTH PLAIN sends it. */
function secretsOf(credentials: SmtpRelay['credentials']): string[] {
  if (credentials === null) return [];
  const { user, password } = credentials;
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  return [password, base64(password), base64(`\0${user}\0${password}`)];
}

function unansweredBy(error: SmtpError): MailResult {
  const { code = '', originalCode = code, command, response } = error;
  if (command === 'STARTTLS' && code === 'ETLS' && originalCode === code)
    return unanswered('certificate', 'the relay did not begin TLS');
  if (code === 'ETIMEDOUT' && command !== undefined)
    return unanswered('timeout', 'the relay did not answer in time');
  // A reply code that SMTP does not have at this step says nothing about the mail.
  if ((code === 'EMESSAGE' || code === 'EENVELOPE') && response !== undefined)
    return unanswered('broken', 'the relay gave an answer that SMTP does not allow at this step');
  if (code === 'EMESSAGE') return unanswered('too-large', 'the mail is larger than the relay takes');
  if (code === 'EENVELOPE')
    return unanswered('invalid-envelope', 'the relay accepts only addresses in ASCII');
  if (RESOLVING.test(originalCode))
    return unanswered('unresolved', `cannot resolve the host name of the relay (${originalCode})`);
  if (CONNECTING.test(originalCode))
    return unanswered('unreachable', `cannot connect to the relay (${originalCode})`);
  if (NOT_TLS.has(originalCode))
    return unanswered('certificate', `the relay does not speak TLS at this port (${originalCode})`);
  if (/CERT|SIGNATURE|ISSUER|UNABLE_TO_|SSL|TLS/.test(originalCode))
    return unanswered('certificate', `the relay's TLS certificate is not trusted (${originalCode})`);
  return unanswered(
    'broken',
    `the connection to the relay failed (${originalCode === '' ? 'unknown error' : originalCode})`,
  );
}

/** OpenSSL's error codes for a greeting in clear text, and for an answer that is no TLS record. */
const NOT_TLS: ReadonlySet<string> = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
]);
const RESOLVING = /^(?:ENOTFOUND|EAI_\w+|ESERVFAIL)$/;
const CONNECTING = /^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN|EADDRNOTAVAIL|ETIMEDOUT)$/;

function unanswered(failure: MailFailure, error: string): MailResult {
  return { kind: 'unanswered', failure, error };
}
