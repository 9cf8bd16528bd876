import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { SECRET } from '../channel-samples.ts';
import { at, type Contract, type Json, type Operation, stepsOf } from './document.ts';

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
};

const PROBLEM = '/components/schemas/Problem';

/**
 * The conditions of a request. `isReader`: its token may not read
 * secrets. `mayFail`: a part behind the API was broken on purpose.
 */
type Circumstances = { readonly isReader?: boolean; readonly mayFail?: boolean };

/** Compares answers with the document. */
export class Judge {
  readonly #ajv: Ajv2020.default;
  readonly #document: Json;
  /** Statuses of the answers so far, by operation. */
  readonly seen = new Map<string, Set<number>>();

  constructor({ document }: Contract) {
    this.#document = document;
    // Each schema judges only some hundred values, so optimizing its code would take longer than it saves.
    this.#ajv = new Ajv2020.default({ strict: false, allErrors: true, code: { optimize: false } });
    addFormats.default(this.#ajv);
    this.#ajv.addSchema({ ...document, $id: 'contract' });
  }

  /** The faults of an answer; empty: the document allows it. */
  faults(
    operation: Operation,
    answer: Answer,
    { isReader = false, mayFail = false }: Circumstances = {},
  ): string[] {
    const seen = this.seen.get(operation.id) ?? new Set();
    this.seen.set(operation.id, seen.add(answer.status));
    const documented = operation.answers.get(answer.status);
    if (documented === undefined) return [`status ${answer.status} is not documented: ${answer.text}`];
    return [
      ...(answer.status >= 500 && !mayFail ? [`status ${answer.status}: ${answer.text}`] : []),
      ...this.#bodyFaults(answer, documented.contentType, documented.schema),
      ...headerFaults(answer, documented.headers),
      ...(answer.status >= 400 || isReader ? secretFaults(answer) : []),
    ];
  }

  /** The faults of an answer at a path, or with a method, that no operation has. */
  problemFaults(answer: Answer, status: number): string[] {
    return [
      ...(answer.status === status ? [] : [`status ${answer.status} instead of ${status}`]),
      ...this.#bodyFaults(answer, 'application/problem+json', PROBLEM),
      ...secretFaults(answer),
    ];
  }

  /** The faults of a value by the schema at this JSON pointer of the document. */
  schemaFaults(pointer: string, value: unknown): string[] {
    const validate = this.#ajv.getSchema(`contract${this.#referred(pointer)}`);
    if (validate === undefined) throw new Error(`the document has no schema at ${pointer}`);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    );
  }

  /**
   * Returns a reference to the schema at a pointer. Without it, Ajv
   * would compile a referenced schema again for each reference.
   */
  #referred(pointer: string): string {
    const schema = at(this.#document, stepsOf(`#${pointer}`)) as Json | undefined;
    const isReference = typeof schema?.$ref === 'string' && Object.keys(schema).length === 1;
    return isReference ? String(schema.$ref) : `#${pointer}`;
  }

  #bodyFaults({ headers, text }: Answer, contentType: string | null, schema: string | null): string[] {
    if (contentType === null || schema === null) return text === '' ? [] : [`has a body: ${text}`];
    const given = headers.get('content-type');
    if (given !== contentType) return [`content-type ${given} instead of ${contentType}`];
    if (!contentType.endsWith('json')) return [];
    return this.schemaFaults(schema, JSON.parse(text)).map((fault) => `${fault} in ${text.slice(0, 500)}`);
  }
}

/** Headers that belong to the answer. Others (`date`, `connection`) belong to HTTP. */
const OWN_HEADERS = ['etag', 'location', 'idempotency-replayed', 'retry-after', 'www-authenticate'];
const ALWAYS = new Set(['etag', 'location', 'retry-after', 'www-authenticate']);

function headerFaults({ headers }: Answer, documented: readonly string[]): string[] {
  return [
    ...OWN_HEADERS.filter((name) => headers.has(name) && !documented.includes(name)).map(
      (name) => `header ${name} is not documented`,
    ),
    ...documented
      .filter((name) => ALWAYS.has(name) && !headers.has(name))
      .map((name) => `header ${name} is documented and missing`),
    ...(headers.has('x-request-id') ? [] : ['header x-request-id is missing']),
  ];
}

function secretFaults({ text }: Answer): string[] {
  return text.includes(SECRET) ? [`shows a secret: ${text}`] : [];
}
