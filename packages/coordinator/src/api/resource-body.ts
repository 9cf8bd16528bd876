import type { SecretPart } from '@svc/shared/resources/definition.ts';
import { parseResource, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { isMask, secretsIn } from '@svc/shared/resources/secrets.ts';
import type { AttributesOf } from '../configuration/kinds.ts';
import { invalid } from './problem.ts';

/**
 * The normalized attributes of a declared resource that was sent.
 *
 * @throws Problem with all that is wrong
 */
export function attributesIn(kind: ResourceKind, body: unknown): AttributesOf<ResourceKind> {
  const result = parseResource(kind, body, 'api');
  // Somebody sends back what a read token was answered.
  const masks = secretsIn(kind, body)
    .filter(isMask)
    .map(({ path, part }) => ({ path, message: `${said(part)}: send the secret itself` }));
  if (!result.ok) throw invalid([...result.issues, ...masks]);
  if (masks.length > 0) throw invalid(masks);
  return result.value;
}

function said(part: SecretPart | undefined): string {
  return `${part === undefined ? 'is' : `has as its ${part.name}`} the mask that read tokens are shown`;
}
