import { Decimal, isObjectValue, UNKNOWN, type Value } from './value.ts';

/** The value of a resource or data source by address. An address that is not declared is an error. */
export type Scope = (address: string) => Value;

const ROOT = /^(?:data\.)?[a-z]\w*\.[A-Za-z_][\w-]*/;

/** Addresses of all that a body refers to. */
export function referencesIn(body: unknown): string[] {
  if (typeof body === 'string') {
    return parts(body).flatMap((part) => ('reference' in part ? [addressIn(part.reference)] : []));
  }
  if (typeof body !== 'object' || body === null) return [];
  return [...new Set(Object.values(body).flatMap(referencesIn))];
}

/** A body with its references resolved; a text with something unknown in it is unknown. */
export function evaluated(body: unknown, scope: Scope): Value {
  if (body === null || body === undefined) return null;
  if (typeof body === 'string') return evaluatedText(body, scope);
  if (typeof body === 'number') return new Decimal(String(body));
  if (typeof body === 'boolean') return body;
  if (Array.isArray(body)) return body.map((member) => evaluated(member, scope));
  return Object.fromEntries(
    Object.entries(body as object).map(([name, member]) => [name, evaluated(member, scope)]),
  );
}

type Part = { text: string } | { reference: string };

/** Literal text and references in turn; `$${` stands for `${`, and `%%{` for `%{`. */
function parts(template: string): Part[] {
  return [...template.matchAll(/\$\$\{|%%\{|\$\{([^}]*)\}|[^$%]+|[$%]/g)].map(([whole, reference]): Part => {
    if (reference !== undefined) return { reference: reference.trim() };
    return { text: whole === '$${' || whole === '%%{' ? whole.slice(1) : whole };
  });
}

function evaluatedText(template: string, scope: Scope): Value {
  const found = parts(template);
  const [only] = found;
  if (found.length === 1 && only !== undefined && 'reference' in only) return resolved(only.reference, scope);
  const texts = found.map((part) => ('text' in part ? part.text : resolved(part.reference, scope)));
  if (texts.includes(UNKNOWN)) return UNKNOWN;
  return texts.map((value) => (value instanceof Decimal ? value.text : String(value))).join('');
}

function addressIn(reference: string): string {
  const address = ROOT.exec(reference)?.[0];
  if (address === undefined) throw new Error(`this client does not know the expression ${reference}`);
  return address;
}

function resolved(reference: string, scope: Scope): Value {
  const address = addressIn(reference);
  const steps = [...reference.slice(address.length).matchAll(/\.([A-Za-z_][\w-]*)|\[(\d+)\]|\["([^"]*)"\]/g)];
  return steps.reduce<Value>((value, [, name, index, key]) => {
    if (value === UNKNOWN) return UNKNOWN;
    const step = name ?? key;
    if (step !== undefined && isObjectValue(value) && Object.hasOwn(value, step)) return value[step] ?? null;
    if (index !== undefined && Array.isArray(value)) return value[Number(index)] ?? null;
    throw new Error(`${reference}: there is no ${step ?? index}`);
  }, scope(address));
}
