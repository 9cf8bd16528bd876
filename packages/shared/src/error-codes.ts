/**
 * Every code that an error of svc has, by where it comes from, with what it means. A code is stable: programs may
 * match on it. `docs/reference/problem-codes.md` is made from these tables; a code that stands in none of them
 * fails the type check.
 */

/** Of a process or a command that cannot do what it was started for. */
export const PROCESS_CODES = {
  'bad-settings': 'A setting has a value that cannot be used. The message names each of them.',
  'bad-tls-files': 'The files of SVC_TLS_CERT and SVC_TLS_KEY cannot be read, or do not belong together.',
  'bad-tokens': 'The API tokens of SVC_API_TOKEN, or of its file, cannot be used.',
  'secret-file-empty': 'A file of the data folder that keeps a secret is empty.',
  'data-folder': 'The data folder cannot be used, or another process uses it.',
  'no-nats-server': 'No NATS server is on this machine, and none could be had.',
  'no-free-port': 'No port of this machine is free for the NATS server of `npm start`.',
  declaration: 'The declared file has errors. The message has each with its line and column.',
  'file-unreadable': 'A file that the declared file names, or that file itself, cannot be read.',
  usage: 'The command line has an option or argument that does not exist, or lacks one.',
  'file-not-written': 'A file could not be written. Files that are there already are left alone.',
  'secrets-hidden': 'An export needs secrets that the token may not read.',
  'not-exportable': 'The API answered something that this version cannot export.',
  'build-failed': 'A bundle or package could not be built.',
} as const;

/** Of the database. */
export const STORE_CODES = {
  'store-full': 'The disk is full, or a quota is reached. Tried again.',
  'store-busy': 'Another program holds a lock on the database. Tried again.',
  'store-io': 'The operating system could not read or write. Tried again.',
  'store-readonly': 'The database may not be written.',
  'store-corrupt': 'The file is damaged.',
  'store-constraint': 'A row breaks a rule of its table.',
  'store-overloaded': 'Too many reads, or too many transactions, wait already. Tried again.',
  'store-reader-lost': 'The thread that reads has ended. The next read starts another. Tried again.',
  'store-writer-lost':
    'The thread that writes has ended, and what it had not committed is rolled back. The next transaction starts another. Tried again.',
  'store-unanswered':
    'The thread that writes has ended after the commit. The change stands; what it did is not known. It must not be repeated.',
  'store-closed': 'The database is closed: the process is stopping.',
  'store-in-use': 'Another coordinator uses this file.',
  'store-newer': 'The database was written by a newer version of svc.',
  'store-foreign': 'The file is not a database of svc.',
  'store-key': 'The secret key does not fit the database, or a sealed value was changed.',
  'store-error': 'The database failed in another way.',
} as const;

/** Of what runs inside the coordinator. */
export const COORDINATOR_CODES = {
  'invalid-reference': 'An attribute names a resource that is not there, or is of the wrong kind.',
  immutable: 'The attribute cannot change while the resource lives.',
  'not-leading': 'This coordinator does not lead at this moment.',
  'not-running': 'The coordinator does not run.',
  'term-ended': 'Leading was stopped while it started.',
  stopping: 'Work was given up because the process stops.',
  'too-many-runs': 'Too many checks are being run by hand at once.',
  'job-key': 'The key that signs jobs has a wrong length.',
  'post-aborted': 'A request to a receiver of alerts was given up.',
  'not-exported': 'The monitor has no endpoint that its metrics are exported to.',
  'export-unavailable': 'The export of metrics does not run at this moment.',
  'proxy-failed': 'The proxy for alerts cannot be reached, or opens no tunnel.',
} as const;

/** Of the connection to NATS. */
export const BUS_CODES = {
  'bus-disconnected': 'There is no connection to NATS.',
  'apart-ended': 'A further connection to NATS has ended.',
  'stream-read-ended': 'NATS ended the reading of a stream. It is read again from the recorded position.',
  'stream-unreadable': 'A message of a stream cannot be read. Tried again.',
  'stream-too-large': 'NATS has no room for the results of a region.',
  'former-stream': 'The stream of an earlier version still keeps the subjects of this one.',
} as const;

/** Of probing. Where the operating system fails too, its own codes, such as ECONNREFUSED, stand beside them. */
export const PROBE_CODES = {
  ENOTFOUND: 'The name does not exist.',
  ENODATA: 'The name exists and has no address.',
  ESERVFAIL: 'The name servers answered SERVFAIL, refused, or answered something that is no answer.',
  EUNREACHABLE: 'None of the name servers can be reached.',
  ETIMEOUT: 'No name server answered in time.',
  EBADNAME: 'The text is not a host name.',
  ECANCELLED: 'The resolver was closed.',
  ELOOKUP: 'A name server could not be asked.',
  EDNSFORMAT: 'A DNS message cannot be read or written.',
  EBADRESPONSE: 'The answer is not HTTP.',
  ENOROOM: 'The memory for kept response bodies is used up.',
  EEGRESS: "The operator's egress rules deny the address.",
  'probe-stuck': 'A probe never settled: a defect of svc.',
  'reference-silent': 'A host by which the agent judges its own network does not answer.',
} as const;

/** Of a request to the API that has no problem document as its answer. */
export const API_CLIENT_CODES = {
  'unknown-problem': 'A problem of the API that this version does not know.',
  unreachable: 'There is no connection: the server cannot have seen the request.',
  timeout: 'There was no complete answer in time.',
  broken: 'The connection ended before the answer was complete.',
  certificate: 'The certificate is not trusted, or the other side speaks no TLS.',
  redirected: 'The address answers with a redirect, which is not followed.',
  'not-the-api': 'Something answers that is not the API of svc: the page of a proxy, another service.',
  'server-failed': 'A status from 500 that is not the answer of the API: a proxy without a server behind it.',
  'answer-too-large': 'The answer is too large.',
  unsettled: 'A list was another each time it was asked for.',
  aborted: 'The caller gave the request up.',
} as const;

/** Of the Terraform provider. */
export const PROVIDER_CODES = {
  'not-connected': 'The provider is not configured yet, or its settings are only known after an apply.',
  'no-private-socket': 'No Unix socket can be had, and Terraform gave no client certificate.',
  'terraform-value': 'Terraform sent a value that cannot be read.',
  'unknown-read': 'A rule looked at a value that is only known after an apply.',
  'call-failed': 'A call of Terraform could not be finished.',
  explained: 'What is wrong stands in the message.',
} as const;

type ErrorTable = Readonly<Record<string, string>>;

/** The tables with their headings, in the order of the page. */
export const ERROR_TABLES: readonly (readonly [heading: string, codes: ErrorTable])[] = [
  ['Processes and commands', PROCESS_CODES],
  ['Database', STORE_CODES],
  ['Coordinator', COORDINATOR_CODES],
  ['NATS', BUS_CODES],
  ['Probing', PROBE_CODES],
  ['Requests to the API', API_CLIENT_CODES],
  ['Terraform provider', PROVIDER_CODES],
];

export type StoreErrorCode = keyof typeof STORE_CODES;

/** A code that is not the API's; those stand in `api/problem-codes.ts`. */
export type ErrorCode =
  | keyof typeof PROCESS_CODES
  | StoreErrorCode
  | keyof typeof COORDINATOR_CODES
  | keyof typeof BUS_CODES
  | keyof typeof PROBE_CODES
  | keyof typeof API_CLIENT_CODES
  | keyof typeof PROVIDER_CODES;
