import type { Documented, DocumentedSchema, EndpointAnswer } from './endpoint.ts';
import { Problem } from './problem.ts';

/** What a create has made, or what the first request with its Idempotency-Key made. */
type Created = {
  /** What it is, in the words of messages. */
  readonly noun: string;
  readonly id: number;
  /** Path of the collection. */
  readonly path: string;
  /** False: the first request with the key made it. */
  readonly isNew: boolean;
  /** How the noun comes into being. */
  readonly verb?: 'created' | 'published';
};

/** What the document says of {@link createdAnswer}. @param verb how the object comes into being */
export function createdDocument(schema: DocumentedSchema, verb = 'Created'): Documented {
  return {
    description: `${verb}, now or by an earlier request with the same Idempotency-Key.`,
    schema,
    headers: ['ETag', 'Location', 'Idempotency-Replayed'],
  };
}

/**
 * The answer to a create: 201 with the place of the object.
 *
 * @param answered the answer that reads the object; null: it is not there any more
 * @throws Problem `conflict`
 */
export function createdAnswer(
  answered: EndpointAnswer | null,
  { noun, id, path, isNew, verb = 'created' }: Created,
): EndpointAnswer {
  if (answered === null)
    throw new Problem(
      'conflict',
      `${noun} ${id}, which the first request with this Idempotency-Key ${verb}, was removed since`,
    );
  const replay = isNew ? {} : { 'idempotency-replayed': 'true' };
  return { ...answered, status: 201, headers: { ...answered.headers, location: `${path}/${id}`, ...replay } };
}
