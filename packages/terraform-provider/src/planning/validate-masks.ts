import type { ResourceDefinition } from '@svc/shared/resources/definition.ts';
import { isResourceKind } from '@svc/shared/resources/registry.ts';
import { isMask, type SecretPlace, secretsIn } from '@svc/shared/resources/secrets.ts';
import { MASK } from '@svc/shared/secret.ts';
import type { AttributePath, Diagnostic } from '../provider.ts';
import type { TerraformObject } from '../value.ts';
import { diagnosticOf } from './diagnostic-text.ts';

/** Secrets that are configured as the mask that the API shows in their place; the API refuses the mask. */
export function maskProblems({ kind }: ResourceDefinition, config: TerraformObject): Diagnostic[] {
  if (!isResourceKind(kind)) return [];
  return secretsIn(kind, config)
    .filter(isMask)
    .map((place) =>
      diagnosticOf({
        path: attributePath(place),
        message: `${place.part === undefined ? 'is' : 'contains'} "${MASK}", the mask that read tokens see: write the secret itself`,
      }),
    );
}

function attributePath({ path, isMember }: SecretPlace): AttributePath {
  const key = path.at(-1);
  return isMember && typeof key === 'string' ? [...path.slice(0, -1), { key }] : path;
}
