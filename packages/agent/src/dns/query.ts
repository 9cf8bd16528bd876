import type { DnsMessage, DnsQuestion } from './packet.ts';
import { RCODE } from './packet.ts';

/** One question to one server, over UDP or TCP, until it is answered or given up. */
export type Query = {
  /** A question whose name is canonical, because {@link isAnswerTo} compares it. */
  question: DnsQuestion;
  withEdns: boolean;
  /** Called at most once, with the message that answers this question. */
  answered: (message: DnsMessage) => void;
  /**
   * Called at most once, instead of `answered`, when the server cannot be asked. `code` is the system's
   * error code, such as `ECONNREFUSED`.
   */
  failed: (code: string) => void;
  /** Called for bytes with the right id that are not an answer to the question. The query goes on. */
  garbage: () => void;
};

/** Gives up a query. After that, none of the query's functions is called. It may be called twice. */
export type Cancel = () => void;

/** Whether a message with the right id from the right server is the answer (RFC 5452, section 4.2). */
export function isAnswerTo(message: DnsMessage, question: DnsQuestion): boolean {
  if (!message.isResponse) return false;
  // Servers that could not or would not read a query may leave its question out.
  if (message.question === null) return message.rcode !== RCODE.ok && message.rcode !== RCODE.noSuchName;
  return message.question.type === question.type && message.question.name === question.name;
}
