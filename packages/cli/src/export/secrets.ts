import type { ExportedSecret } from './document.ts';
import { hclString } from './hcl.ts';

export const FORMATS = ['yaml', 'json', 'hcl'] as const;
export type Format = (typeof FORMATS)[number];

/** How secrets are written: in clear in the document, or as variables that the document refers to. */
export const SECRETS_AS = ['variables', 'inline'] as const;
export type SecretsAs = (typeof SECRETS_AS)[number];

/**
 * Name of the environment variable for a secret. It does not begin with `SVC_`, because svc warns about
 * unknown names with that prefix.
 */
export function environmentName(secret: ExportedSecret): string {
  return secret.name.toUpperCase();
}

/** Name of the environment variable from which a document in this format takes a secret. */
export function variableName(secret: ExportedSecret, format: Format): string {
  return format === 'hcl' ? `TF_VAR_${secret.name}` : environmentName(secret);
}

/**
 * Writes a file that sets the variables of all secrets: `*.auto.tfvars`
 * for Terraform, shell assignments for the declared file.
 */
export function secretsFile(secrets: readonly ExportedSecret[], format: Format): string {
  if (format !== 'hcl') {
    return secrets.map((secret) => `${environmentName(secret)}=${shellQuoted(secret.shown())}\n`).join('');
  }
  const width = Math.max(0, ...secrets.map(({ name }) => name.length));
  return secrets.map((secret) => `${secret.name.padEnd(width)} = ${hclString(secret.shown())}\n`).join('');
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", () => `'\\''`)}'`;
}
