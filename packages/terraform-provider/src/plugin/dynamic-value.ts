import { Decoder, Encoder, ExtData, type ExtensionCodecType } from '@msgpack/msgpack';
import { SvcError } from '@svc/shared/errors.ts';
import type { AttributePath } from '../provider.ts';
import type { Schema } from '../schema.ts';
import { ExactNumber, isObject, type TerraformObject, type TerraformValue, UNKNOWN } from '../value.ts';
import { type Conformed, conform, type Nonconformity } from './conform.ts';
import { numberFromDouble, numberFromText, wireNumber } from './decimal.ts';
import type { Message } from './messages.ts';

/** Terraform sent bytes that are not a value of the schema. The message never contains a value. */
export class ValueError extends SvcError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('terraform-value', message, options);
  }
}

/**
 * Encodes and decodes unknown values. On the wire an unknown value is a MessagePack
 * extension: type 0, or type 12 with details ("not null", "starts with"). Both
 * types are decoded to unknown. The encoder writes the same bytes as Terraform.
 */
const EXTENSIONS: ExtensionCodecType<undefined> = {
  tryToEncode: (value) => (value === UNKNOWN ? UNKNOWN_ON_THE_WIRE : null),
  decode: () => UNKNOWN,
};
const UNKNOWN_ON_THE_WIRE = new ExtData(0, Uint8Array.of(0));

const OPTIONS = { extensionCodec: EXTENSIONS, useBigInt64: true };

/**
 * Decodes a value from Terraform, in MessagePack or JSON; null: the object does not exist.
 *
 * @throws ValueError when the bytes are not a value of that schema
 */
export function decodeValue(
  schema: Schema,
  message: Message<'DynamicValue'> | undefined,
): TerraformObject | null {
  const { value, problems } = conform(schema, rawValue(message));
  if (problems.length > 0) throw new ValueError(problems.map(describeProblem).join('; '));
  return value;
}

/** Encodes a value for Terraform in the shape of the schema; `problems` lists the parts that do not fit. */
export function encodeValue(
  schema: Schema,
  value: TerraformObject | null,
): Conformed<Message<'DynamicValue'>> {
  const conformed = conform(schema, value);
  return {
    value: { msgpack: new Encoder(OPTIONS).encode(wireForm(conformed.value)) },
    problems: conformed.problems,
  };
}

/**
 * Parses JSON. Numbers keep their written value.
 *
 * @throws ValueError when the bytes are not JSON; the message does not quote them
 */
export function parseJson(bytes: Uint8Array): unknown {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  const exact = (_key: string, value: unknown, context?: { source?: string }): unknown =>
    typeof value === 'number' && context?.source !== undefined ? numberFromText(context.source) : value;
  try {
    return JSON.parse(text, exact);
  } catch {
    // The parser's error quotes its input, which may be a secret.
    throw new ValueError(`${bytes.byteLength} bytes are not JSON`);
  }
}

/** Describes a problem, like `blocks[0].name: a string is required, not a list`. */
export function describeProblem({ path, message }: Nonconformity): string {
  return path.length === 0 ? message : `${describePath(path)}: ${message}`;
}

function describePath(path: AttributePath): string {
  return path
    .map((step, index) => {
      if (typeof step === 'number') return `[${step}]`;
      if (typeof step === 'object') return `[${JSON.stringify(step.key)}]`;
      return index === 0 ? step : `.${step}`;
    })
    .join('');
}

function rawValue(message: Message<'DynamicValue'> | undefined): unknown {
  if (message?.msgpack !== undefined && message.msgpack.length > 0) return unpack(message.msgpack);
  if (message?.json !== undefined && message.json.length > 0) return parseJson(message.json);
  return null;
}

function unpack(bytes: Uint8Array): unknown {
  try {
    return withExactDoubles(new Decoder({ ...OPTIONS, ...boundsFor(bytes) }).decode(bytes));
  } catch (cause) {
    if (cause instanceof Error && cause.message.includes('__proto__')) {
      throw new ValueError('the key "__proto__" cannot be used in a map', { cause });
    }
    throw new ValueError(`${bytes.length} bytes are not MessagePack`, { cause });
  }
}

/**
 * Bounds on lengths in MessagePack. Each member or character takes at least one
 * byte, so the decoder refuses a larger length before it reserves memory for it.
 */
function boundsFor({ length }: Uint8Array) {
  return {
    maxStrLength: length,
    maxBinLength: length,
    maxArrayLength: length,
    maxMapLength: length,
    maxExtLength: length,
  };
}

function withExactDoubles(raw: unknown): unknown {
  if (typeof raw === 'number') return numberFromDouble(raw);
  if (Array.isArray(raw)) return raw.map(withExactDoubles);
  if (typeof raw !== 'object' || raw === null) return raw;
  for (const [key, value] of Object.entries(raw)) {
    (raw as Record<string, unknown>)[key] = withExactDoubles(value);
  }
  return raw;
}

function wireForm(value: TerraformValue): unknown {
  if (typeof value === 'number' || value instanceof ExactNumber) return wireNumber(value);
  if (Array.isArray(value)) return value.map(wireForm);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, wireForm(each)]));
}
