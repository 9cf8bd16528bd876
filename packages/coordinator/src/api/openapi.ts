import { REGION_FORMAT, type Region } from '@svc/shared/regions.ts';
import type { Attribute, Attributes, Block, ResourceDefinition } from '@svc/shared/resources/definition.ts';
import { DEFINITIONS, type ResourceKind, resourceSchema } from '@svc/shared/resources/registry.ts';
import { z } from 'zod';
import { id, instant, RESOURCE_MEMBERS } from './answers.ts';
import type { Documented, DocumentedSchema, Endpoint, RequestHeader } from './endpoint.ts';
import { answerExample, inputExample } from './examples.ts';
import { PROBLEMS, type ProblemCode, problem } from './problem.ts';

const VERSION = '1';

const DESCRIPTION = `Uptime monitoring.

Ids are decimal numbers as strings. Instants are epoch milliseconds; those of declared resources, tokens and workspaces are RFC 3339 strings. POST and PUT accept what GET answers: read-only members are ignored, and null means the same as leaving a member out. All other unknown members are refused. Tokens of scope read see ******** in place of secrets.

Every failure is a problem (RFC 9457) with a stable \`type\`. A path answers 405 with \`Allow\` to a method that it does not have. An id that the workspace of the token does not have is answered 404; in a body the \`type\` is \`reference-not-found\`, with the place of the id.`;

const HEADERS: Readonly<Record<string, Json>> = {
  'X-Request-Id': {
    description: 'Id of the request: the one that was sent, or a new one. The log has it too.',
    schema: { type: 'string' },
  },
  ETag: {
    description: 'Version of the object, and a digest of the answer.',
    schema: { type: 'string', pattern: '^"\\d+-[\\w-]+"$' },
  },
  Location: { description: 'Path of the new object.', schema: { type: 'string', format: 'uri-reference' } },
  'Idempotency-Replayed': {
    description: '`true`: an earlier request with this key created the object.',
    schema: { const: 'true' },
  },
  'Svc-Declared-As': {
    description: 'Name of the object in the declared file. The API refuses to change such an object.',
    schema: { type: 'string' },
  },
  'Svc-Declared-In': {
    description: 'Name of the declared file, percent-encoded.',
    schema: { type: 'string' },
  },
  'Svc-Workspace': { description: 'Workspace of the token.', schema: { type: 'string', pattern: '^\\d+$' } },
  'Retry-After': { description: 'Number of seconds to wait.', schema: { type: 'string', pattern: '^\\d+$' } },
  'WWW-Authenticate': { description: 'The scheme `Bearer`.', schema: { type: 'string' } },
};

const PROBLEM_HEADERS: { readonly [C in ProblemCode]?: string } = {
  unauthorized: 'WWW-Authenticate',
  'rate-limited': 'Retry-After',
  unavailable: 'Retry-After',
};

/** Makes the OpenAPI 3.1 document of these endpoints, from the schemas that also validate requests. */
export function openApi(endpoints: readonly Endpoint[], publicUrl: string, regions: readonly Region[]): Json {
  const paths: Record<string, Json> = {};
  for (const endpoint of endpoints) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method.toLowerCase()]: operation(endpoint) };
  }
  const document = {
    openapi: '3.1.0',
    info: { title: 'svc', version: VERSION, description: DESCRIPTION },
    servers: [{ url: publicUrl }],
    security: [{ token: [] }],
    tags: [...new Set(endpoints.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      headers: HEADERS,
      responses: Object.fromEntries(
        (Object.keys(PROBLEMS) as ProblemCode[])
          .filter((code) => code !== 'method-not-allowed')
          .map((code) => [code, problemResponse(code)]),
      ),
      schemas: {
        ...Object.fromEntries(
          (Object.keys(DEFINITIONS) as ResourceKind[]).flatMap((kind) => [
            [inputName(kind), inputSchemaOf(kind)],
            [kind, answerSchemaOf(kind)],
          ]),
        ),
        Problem: jsonSchema(problem, 'output'),
      },
    },
  };
  return JSON.parse(JSON.stringify(document), (_, value) => withRegions(value, regions));
}

/** Names the regions of the installation where a schema has the format of a region. */
function withRegions(schema: unknown, regions: readonly Region[]): unknown {
  if (typeof schema !== 'object' || schema === null || !('format' in schema)) return schema;
  if (schema.format !== REGION_FORMAT) return schema;
  const { format: _, ...others } = schema;
  return { ...others, enum: regions };
}

/**
 * Returns the types of problems that the documented answer for a code may have. A missing object in
 * the body has the same HTTP status as a missing object in the path, so one answer documents both.
 */
function codesOf(code: ProblemCode): string[] {
  const codes = code === 'reference-not-found' ? ['not-found', code] : [code];
  return codes.map((one) => `urn:svc:problem:${one}`);
}

function problemResponse(code: ProblemCode): Json {
  const { status, title } = PROBLEMS[code];
  const named = ['X-Request-Id', PROBLEM_HEADERS[code] ?? []].flat();
  return {
    description: code === 'reference-not-found' ? `Not found, or: ${title}` : title,
    headers: Object.fromEntries(named.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
    content: {
      'application/problem+json': {
        schema: {
          allOf: [{ $ref: '#/components/schemas/Problem' }],
          properties: { type: { enum: codesOf(code) }, status: { const: status } },
        },
      },
    },
  };
}

const REQUEST_HEADERS: { readonly [H in RequestHeader]: Json } = {
  'If-Match': {
    description:
      'The request is carried out only if the version of the object is that of one of these entity tags. Otherwise the answer is 412.',
    schema: { type: 'string' },
    example: '"3-x5Zb0aVv1KqYw2Rt"',
  },
  'If-None-Match': {
    description: 'The answer is 304 if it would have one of these entity tags.',
    schema: { type: 'string' },
    example: '"3-x5Zb0aVv1KqYw2Rt"',
  },
  'Idempotency-Key': {
    description:
      'A request that is repeated with the same key within 24 hours creates nothing twice. Another request with the same key is refused (409).',
    schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
    example: '4f5c1f6e-6f0e-4b0e-9a53-0f6b6d1f0a51',
  },
};

/** Makes one operation of the OpenAPI document, with all its answers. */
function operation(endpoint: Endpoint): Json {
  const { tag, summary, description, access, path, method, query, headers = [], body } = endpoint;
  return {
    tags: [tag],
    summary: access === 'operator' ? `${summary} (operator's token only)` : summary,
    ...(description === undefined ? {} : { description }),
    operationId: operationId(method, path),
    // The scopes are listed as roles. OpenAPI 3.1 allows roles for every security scheme.
    security: access === 'public' ? [] : [{ token: [access] }],
    parameters: [
      ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
        name,
        in: 'path',
        required: true,
        schema: jsonSchema(id, 'input'),
      })),
      ...(query === undefined ? [] : queryParameters(query)),
      ...headers.map((name) => ({ name, in: 'header', ...REQUEST_HEADERS[name] })),
    ],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: schemaOf(body, 'input') } },
          },
        }),
    responses: { ...ownAnswers(endpoint), ...problemAnswers(endpoint) },
  };
}

/**
 * Returns the problems that an endpoint may report: those of every endpoint, those
 * that follow from its access, path, headers and body, and those in its `problems`.
 */
function problemCodes({ access, path, headers = [], body, problems = [] }: Endpoint): ProblemCode[] {
  const isPublic = access === 'public';
  return [
    'malformed-request',
    'misdirected',
    ...(isPublic ? [] : (['unauthorized'] as const)),
    ...(isPublic || access === 'read' ? [] : (['forbidden'] as const)),
    ...(path.includes('{') ? (['not-found'] as const) : []),
    // The endpoint's own problems come after `not-found`, because
    // a later problem with the same status (404) replaces it.
    ...problems,
    ...(headers.includes('If-Match') ? (['precondition-failed'] as const) : []),
    ...(body === undefined ? [] : (['too-large', 'unsupported-media-type', 'invalid'] as const)),
    ...(isPublic ? [] : (['rate-limited'] as const)),
    'internal-error',
    ...(isPublic ? [] : (['unavailable'] as const)),
  ];
}

function problemAnswers(endpoint: Endpoint): Json {
  const references = problemCodes(endpoint).map((code) => [
    PROBLEMS[code].status,
    { $ref: `#/components/responses/${code}` },
  ]);
  return Object.fromEntries(references);
}

function ownAnswers(endpoint: Endpoint): Json {
  const own = Object.entries(endpoint.answers).map(([status, one]) => [status, answer(endpoint, one)]);
  const notModified = {
    description: 'The object has not changed since the answer with one of these entity tags.',
    headers: { ETag: { $ref: '#/components/headers/ETag' } },
  };
  return {
    ...Object.fromEntries(own),
    ...(endpoint.headers?.includes('If-None-Match') === true ? { 304: notModified } : {}),
  };
}

function answer({ access }: Endpoint, documented: Documented): Json {
  const { description, schema, contentType, headers = [] } = documented;
  const common = ['X-Request-Id', ...(access === 'public' ? [] : ['Svc-Workspace'])];
  const references = [...common, ...headers].map((name) => [name, { $ref: `#/components/headers/${name}` }]);
  const shared = { description, headers: Object.fromEntries(references) };
  if (contentType !== undefined)
    return { ...shared, content: { [contentType]: { schema: { type: 'string' } } } };
  if (schema === undefined) return shared;
  return { ...shared, content: { 'application/json': { schema: schemaOf(schema, 'output') } } };
}

/**
 * Makes the schema of a page of a list of resources. The members beside `data` are the same for all kinds.
 */
function listSchema(kinds: readonly ResourceKind[]): Json {
  const whole = { type: 'integer', minimum: 0 };
  return {
    type: 'object',
    properties: {
      data: { type: 'array', items: schemaOf({ resource: kinds }, 'output') },
      total: { ...whole, description: 'Number of items on all pages.' },
      limit: whole,
      offset: whole,
    },
    required: ['data', 'total', 'limit', 'offset'],
    additionalProperties: false,
    examples: [{ data: kinds.map(answerExample), total: kinds.length, limit: 50, offset: 0 }],
  };
}

function queryParameters(query: z.ZodObject): Json[] {
  const { properties = {}, required = [] } = jsonSchema(query, 'input') as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema,
  }));
}

function schemaOf(schema: DocumentedSchema, io: 'input' | 'output'): Json {
  if ('resources' in schema) return listSchema(schema.resources);
  if (!('resource' in schema)) return jsonSchema(schema, io);
  const references = ([schema.resource].flat() as ResourceKind[]).map((kind) => ({
    $ref: `#/components/schemas/${io === 'input' ? inputName(kind) : kind}`,
  }));
  return references.length === 1 ? (references[0] ?? {}) : { oneOf: references };
}

function operationId(method: string, path: string): string {
  const words = path.split('/').filter((step) => step !== '' && step !== 'v1');
  return [method.toLowerCase(), ...words.map((step) => step.replace(/[{}]/g, '').replace(/\W/g, '_'))].join(
    '_',
  );
}

export type Json = { [name: string]: unknown };

const ID = jsonSchema(id, 'output');

/** Makes a JSON Schema (2020-12) with zod. */
function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  // zod leaves out the examples of a request with a member that is transformed.
  const examples = schema.meta()?.examples;
  return examples === undefined ? rest : { ...rest, examples };
}

function inputName(kind: ResourceKind): string {
  return `${kind}_input`;
}

/**
 * Makes the schema of a resource in a request. It lacks the rules that compare
 * several members. The API answers 422 to a request that breaks such a rule.
 */
function inputSchemaOf(kind: ResourceKind): Json {
  const { constants, description } = DEFINITIONS[kind];
  const {
    properties,
    required = [],
    ...schema
  } = jsonSchema(resourceSchema(kind, 'api'), 'input') as {
    properties: Record<string, Json>;
    required?: string[];
  };
  const fixed = Object.entries(constants).map(([name, value]) => [name, { type: 'string', const: value }]);
  return {
    ...schema,
    description,
    properties: { ...properties, ...Object.fromEntries(fixed) },
    required: [...Object.keys(constants), ...required],
    examples: [inputExample(kind)],
  };
}

/**
 * Makes the schema of a resource in an answer, with all
 * normalized attributes and the members that the service adds.
 */
function answerSchemaOf(kind: ResourceKind): Json {
  const definition: ResourceDefinition = DEFINITIONS[kind];
  const [lists, choices] = [blocksOf(definition, 'list'), blocksOf(definition, 'single')];
  const members = {
    ...Object.fromEntries(
      Object.entries(definition.constants).map(([name, value]) => [name, { type: 'string', const: value }]),
    ),
    ...objectSchema(definition.attributes).properties,
    ...Object.fromEntries(lists.map(([name, block]) => [name, blockSchema(block)])),
    ...Object.fromEntries(
      Object.entries(RESOURCE_MEMBERS[kind]).map(([name, schema]) => [
        name,
        { ...jsonSchema(schema, 'output'), readOnly: true },
      ]),
    ),
  };
  return {
    ...closed(members, definition.description),
    ...exactlyOne(Object.keys(members).length, members, choices),
    examples: [answerExample(kind)],
  };
}

/** Makes a schema that requires exactly one block: the block whose name is the value of `provider_type`. */
function exactlyOne(count: number, members: Json, choices: readonly (readonly [string, Block])[]): Json {
  if (choices.length === 0) return {};
  return {
    properties: {
      ...members,
      ...Object.fromEntries(choices.map(([name, block]) => [name, blockSchema(block)])),
    },
    minProperties: count + 1,
    maxProperties: count + 1,
    oneOf: choices.map(([name]) => ({ properties: { provider_type: { const: name } }, required: [name] })),
  };
}

function blocksOf(definition: ResourceDefinition, nesting: Block['nesting']) {
  return Object.entries(definition.blocks).filter(([, block]) => block.nesting === nesting);
}

function blockSchema({ nesting, maximum, description, attributes }: Block): Json {
  const one = objectSchema(attributes, description);
  return nesting === 'single' ? one : { type: 'array', description, maxItems: maximum, items: one };
}

function objectSchema(attributes: Attributes, description?: string): Json & { properties: Json } {
  const properties = Object.fromEntries(
    Object.entries(attributes).map(([name, attribute]) => [name, attributeSchema(name, attribute)]),
  );
  return closed(properties, description);
}

function closed(properties: Json, description: string | undefined): Json & { properties: Json } {
  return {
    type: 'object',
    ...(description === undefined ? {} : { description }),
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  };
}

function attributeSchema(name: string, attribute: Attribute): Json {
  const { presence, description } = attribute;
  const schema = valueSchema(name, attribute);
  return {
    ...(presence === 'optional' ? { anyOf: [schema, { type: 'null' }] } : schema),
    description,
    ...(presence === 'computed' ? { readOnly: true } : {}),
  };
}

function valueSchema(name: string, { value, presence }: Attribute): Json {
  if (value.attributes !== undefined) {
    return { type: 'array', maxItems: value.maximumItems, items: objectSchema(value.attributes) };
  }
  if (value.references !== undefined) return value.type === 'set' ? { type: 'array', items: ID } : ID;
  if (presence === 'computed' && name === 'id') return ID;
  if (presence === 'computed' && name.endsWith('_at')) return jsonSchema(instant, 'output');
  // Parsing turns a set into another type, but answers show a
  // list, as requests do. So this is the schema of the input.
  return jsonSchema(value.schema, value.type === 'set' ? 'input' : 'output');
}
