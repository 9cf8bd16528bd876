import { deepEqual, equal, ok } from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { readJob, readJobsMessage } from '@svc/agent/intake.ts';
import { readHeartbeat } from '@svc/coordinator/checks/heartbeats.ts';
import { parseResults } from '@svc/coordinator/checks/parse-results.ts';
import { isResultsSubjectOf, regionOfSubject } from '@svc/shared/messages/subjects.ts';
import { REGIONS } from '@svc/shared/regions.ts';
import { Secret } from '@svc/shared/secret.ts';
import { garbage } from '../../support/garbage.ts';
import { mutatedJson, parsed } from '../json-mutations.ts';
import { type FuzzTarget, json, latin1, never } from '../target.ts';

const REGION = 'hosta-fra';
const FIXTURES = new URL('../../fixtures/messages/', import.meta.url);

const recorded = (name: string): object =>
  (JSON.parse(readFileSync(new URL(name, FIXTURES), 'utf8')) as { message: object }).message;

const RECORDED = readdirSync(FIXTURES)
  .filter((name) => name.endsWith('.json'))
  .map((name) => recorded(name));

const corpusOf = (...kinds: string[]): Buffer[] => {
  const messages = RECORDED.filter((message) =>
    kinds.some((kind) => kind in message || Object(message).kind === kind),
  );
  const none = messages.flatMap((message) => garbage(message)).map(({ data }) => Buffer.from(data));
  return [...messages, ...messages, ...messages]
    .map(json)
    .concat(none.filter(({ length }) => length < 20_000));
};

const WORDS = [
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"',
  '\\',
  '\\u0000',
  '\\ud800',
  'null',
  '1e999',
  '-1',
  '"v":1,',
  '"kind":"jobs",',
  '"__proto__":{},',
  '"results":',
  '"jobs":',
  '"check":',
  '"type":"http",',
  '"monitor":1,',
  '"agent":"x",',
];

/** The value as it was sent, for comparisons. */
function opened(message: object): object {
  const entries = Object.entries(message).map(([key, value]) => [
    key,
    value instanceof Secret ? value.reveal() : value,
  ]);
  return Object.fromEntries(entries);
}

export const MESSAGES_TO_AGENTS: FuzzTarget = {
  name: 'messages-to-agents',
  corpus: corpusOf('jobs', 'run_now'),
  words: WORDS,
  mutate: mutatedJson,
  parse: readJobsMessage,
  isRefusal: never,
  check(input) {
    const message = readJobsMessage(input);
    if (typeof message === 'string') return;
    equal(typeof readJobsMessage(json(opened(message))), 'object', 'what was read is read again');
    if (message.kind !== 'jobs') return;
    for (const value of message.jobs) {
      const read = readJob(value);
      if (read.is === 'job') {
        const again = readJob(opened(read.job));
        deepEqual('job' in again && opened(again.job), opened(read.job), 'a job that is read again');
      }
      if (read.is === 'invalid' && read.key !== null)
        ok(read.key.every((part) => Number.isSafeInteger(part)));
    }
  },
};

/** As JSON carries it: 0 for -0. */
const asSent = (message: object): unknown => JSON.parse(JSON.stringify(message));

export const MESSAGES_OF_AGENTS: FuzzTarget = {
  name: 'messages-of-agents',
  corpus: corpusOf('heartbeat'),
  words: WORDS,
  mutate: mutatedJson,
  parse: readHeartbeat,
  isRefusal: never,
  check(input) {
    const message = readHeartbeat(input);
    if (message !== null)
      deepEqual(readHeartbeat(json(message)), asSent(message), 'a message that is read again');
  },
};

export const RESULTS: FuzzTarget = {
  name: 'results',
  corpus: corpusOf('results'),
  words: WORDS,
  mutate: mutatedJson,
  // It does not wait unless a pause is requested, so its work is done when it returns.
  parse: (input) => void parseResults(messageOf(input)),
  isRefusal: never,
  async check(input) {
    const read = await parseResults(messageOf(input));
    const { results } = Object(parsed(input)) as { results?: unknown };
    if (typeof read === 'string' || !Array.isArray(results)) return;
    equal(read.results.length + read.malformed, results.length, 'results read or counted as malformed');
  },
};

const messageOf = (data: Uint8Array) => ({
  subject: `svc.results.${REGION}.0`,
  data,
  sequence: 1,
  time: 0,
  messageId: '',
});

export const SUBJECTS: FuzzTarget = {
  name: 'subjects',
  corpus: [
    'svc.results.hosta-fra',
    'svc.results.hosta-fra.0',
    'svc.jobs.hosta-fra',
    'svc.heartbeats.hostb-par.x',
  ].map(latin1),
  words: ['.', '*', '>', ' ', '\r\n', 'svc', 'results', ...REGIONS],
  parse: (input) => regionOfSubject(input.toString()),
  isRefusal: never,
  check(input) {
    const subject = input.toString();
    const regions = REGIONS.filter((region) => isResultsSubjectOf(region, subject));
    ok(regions.length <= 1, 'two regions may report on it');
    if (regions.length === 1) equal(regionOfSubject(subject), regions[0]);
    if (regions.length === 1) ok(!/[*>\s]/.test(subject), 'a wildcard');
  },
};
