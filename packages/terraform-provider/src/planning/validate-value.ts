import type { Attribute, Value } from '@svc/shared/resources/definition.ts';
import { type Issue, issuesOf } from '@svc/shared/resources/input.ts';
import { quoted } from '@svc/shared/resources/wording.ts';
import type { AttributePath } from '../provider.ts';
import { ExactNumber, isObject, type TerraformValue, UNKNOWN } from '../value.ts';
import type { AttributeProblem } from './diagnostic-text.ts';

/** Message for a number that is within its bounds, but that a double cannot represent exactly. */
const INEXACT = 'has too many digits: write at most 15';

/**
 * Problems that the schema of the definition finds in the
 * value of an attribute. Their paths begin at the attribute.
 */
export function valueProblems({ value, secret }: Attribute, given: TerraformValue): AttributeProblem[] {
  if (given === UNKNOWN) return [];
  const parsed = value.schema.safeParse(withStandIns(given));
  if (parsed.success) {
    return value.type === 'number' && given instanceof ExactNumber ? [{ path: [], message: INEXACT }] : [];
  }
  return issuesOf(parsed.error).flatMap((issue) => {
    const at = memberAt(given, issue.path);
    return at === UNKNOWN && value.type !== 'map' ? [] : [problemOf(value, issue, at, secret)];
  });
}

/**
 * Replaces unknown members by an empty string, so that the other members can be validated. The caller drops
 * the problems of such a string. In a map, the caller keeps such problems: any string is a valid value there,
 * so the problem is in the key.
 */
function withStandIns(value: TerraformValue): unknown {
  if (value === UNKNOWN) return '';
  if (value instanceof ExactNumber) return Number(value.text);
  if (Array.isArray(value)) return value.map(withStandIns);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withStandIns(member)]));
}

function memberAt(value: TerraformValue, path: Issue['path']): TerraformValue | undefined {
  return path.reduce<TerraformValue | undefined>((found, step) => {
    if (Array.isArray(found)) return found[Number(step)];
    return found !== undefined && isObject(found) ? found[step] : undefined;
  }, value);
}

function problemOf(
  value: Value,
  issue: Issue,
  at: TerraformValue | undefined,
  isSecret: boolean,
): AttributeProblem {
  const path = pathIn(value, issue.path);
  if (at === null) {
    return value.type === 'objects' && issue.path.length > 1
      ? { path, message: 'is required, but it is null', isMissing: true }
      : { path, message: 'has a member that is null: remove it' };
  }
  if (isSecret || typeof at !== 'string') return { path, message: issue.message };
  // A path cannot name a member of a set, so the message quotes the member.
  const isNamed = value.type !== 'set' || issue.message.startsWith('"');
  return { path, message: isNamed ? issue.message : `${quoted(at)} ${issue.message}` };
}

/** Converts a path of the zod schema to a path of Terraform. */
function pathIn({ type }: Value, path: Issue['path']): AttributePath {
  const [first, ...rest] = path;
  if (first === undefined || type === 'set') return [];
  return type === 'map' ? [{ key: String(first) }, ...rest] : path;
}
