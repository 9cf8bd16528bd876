import type { DnsMessage, DnsQuestion } from './packet.ts';
import { RCODE } from './packet.ts';

/** One question to one server, over UDP or TCP. It ends when it is answered, fails or is given up. */
export type Query = {
  /** A question whose name is canonical, because {@link isAnswerTo} compares it. */
  question: DnsQuestion;
  withEdns: boolean;
  /** Called at most once, with the message that answers this question. */
  answered: (message: DnsMessage) => void;
  /**
   * Called at most once, instead of `answered`, when no answer will come. `code` is the
   * system's error code, such as `ECONNREFUSED`, or one of svc's: `EBUSY` (too many queries are
   * pending), `ECANCELLED` (the client was closed), `EBADRESP` (over TCP, a message that is no answer).
   */
  failed: (code: string) => void;
  /** Called for a datagram that has the right id but does not answer the question. The query goes on. */
  garbage: () => void;
};

/**
 * Gives up a query or question. It may be called twice. After that, none of its functions is called,
 * except for a refusal that came at once: `EBUSY`, or that the client was closed already.
 */
export type Cancel = () => void;

/** Whether a message with the right id from the right server is the answer (RFC 5452, section 4.2). */
export function isAnswerTo(message: DnsMessage, question: DnsQuestion): boolean {
  if (!message.isResponse) return false;
  // A server that could not or would not read a query may leave the question out of its answer.
  if (message.question === null) return message.rcode !== RCODE.ok && message.rcode !== RCODE.noSuchName;
  return message.question.type === question.type && message.question.name === question.name;
}
