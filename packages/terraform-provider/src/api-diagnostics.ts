import { ApiError } from '@svc/shared/api/api-error.ts';
import { messageOf } from '@svc/shared/errors.ts';
import { adviceOn } from './api-advice.ts';
import type { Connection } from './connection.ts';
import { diagnosticOf } from './planning/diagnostic-text.ts';
import { pathOfPointer } from './pointer-path.ts';
import type { Diagnostic } from './provider.ts';
import type { Schema } from './schema.ts';

export type FailedOperation = {
  /**
   * Name of the operation, such as `create the svc_http_monitor`.
   * The diagnostic begins with "Cannot" and this name.
   */
  readonly what: string;
  /** Schema of the resource whose attributes the API may name. */
  readonly schema: Schema;
  readonly settings: Connection['settings'];
  /** Whether the operation changes an existing object. */
  readonly isChange?: boolean;
};

/** Diagnostics that tell the user of a failure of the API. They never contain a secret. */
export function apiDiagnostics(error: unknown, operation: FailedOperation): Diagnostic[] {
  const summary = `Cannot ${operation.what}`;
  if (!(error instanceof ApiError)) return [failure(summary, sentence(messageOf(error)))];
  const located = error.errors.map((detail) => locatedDiagnostic(operation, detail, summary));
  if (located.length > 0) return located;
  return [failure(summary, detailOf(error, operation.settings))];
}

/** A diagnostic of a failure. It has a path if the API names an attribute of the configuration. */
function locatedDiagnostic(
  { schema, settings, isChange = false }: FailedOperation,
  { pointer, message }: ApiError['errors'][number],
  summary: string,
): Diagnostic {
  const path = pathOfPointer(schema, pointer);
  if (path === null) return failure(summary, sentence(pointer === '' ? message : `${pointer}: ${message}`));
  const located = { ...diagnosticOf({ path, message }), summary };
  const advice = adviceOn(message, settings, isChange);
  return advice === null ? located : { ...located, detail: `${located.detail} ${advice}` };
}

function detailOf(error: ApiError, settings: Connection['settings']): string {
  const token = settings?.token.source ?? 'the token';
  const address =
    settings === null ? '' : ` The base URL ${settings.baseUrl.value} comes from ${settings.baseUrl.source}.`;
  switch (error.code) {
    case 'unauthorized':
      return `The API does not accept the token, which comes from ${token}: it is unknown or revoked, or belongs to another svc.${address}`;
    case 'forbidden':
      return `The token, which comes from ${token}, has scope read; changes need one of scope write (${error.request}).`;
    case 'not-found':
    case 'unreachable':
    case 'not-the-api':
    case 'redirected':
    case 'certificate':
    case 'server-failed':
      return `${sentence(error.message)}${address}`;
    default:
      return sentence(error.message);
  }
}

export function failure(summary: string, detail: string): Diagnostic {
  return { severity: 'error', summary, detail };
}

/** Adds a full stop, and begins the text with a capital letter if its first word is in lower case. */
export function sentence(text: string): string {
  const begun = /^[a-z]+ /.test(text) ? `${text[0]?.toUpperCase()}${text.slice(1)}` : text;
  return /[.?!]$/.test(begun) ? begun : `${begun}.`;
}
