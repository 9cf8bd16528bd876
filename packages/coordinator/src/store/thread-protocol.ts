import type { MessagePort } from 'node:worker_threads';
import type { SqliteFailure } from './errors.ts';

/** A request to a thread of the store. Requests are answered in their order. */
export type Numbered<Request> = { readonly id: number; readonly request: Request };

export type Reply<Answer> =
  | { readonly id: number; readonly ok: true; readonly answer: Answer }
  | { readonly id: number; readonly ok: false; readonly failure: SqliteFailure };

/** The thread's side: its `parentPort`. */
export type ServedPort = Pick<MessagePort, 'postMessage'> & {
  on<Message>(event: 'message', listener: (message: Message) => void): unknown;
};

/** Answers one message; an error becomes an answer. */
export function replyTo<Request, Answer>(
  { id, request }: Numbered<Request>,
  answer: (request: Request) => Answer,
): Reply<Answer> {
  try {
    return { id, ok: true, answer: answer(request) };
  } catch (error) {
    return { id, ok: false, failure: failureOf(error) };
  }
}

/** The part of an SQLite error that crosses threads; any other error gets the code of SQLITE_ERROR. */
export function failureOf(error: unknown): SqliteFailure {
  const { message = String(error), errcode = 1 } = error as { message?: string; errcode?: number };
  return { message, errcode };
}
