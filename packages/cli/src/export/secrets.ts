import type { ExportedSecret } from './document.ts';
import { hclString } from './hcl.ts';

export const FORMATS = ['yaml', 'json', 'hcl'] as const;
export type Format = (typeof FORMATS)[number];

/** Whether secrets stand in the document, or it takes them from variables. */
export const SECRETS_AS = ['variables', 'inline'] as const;
export type SecretsAs = (typeof SECRETS_AS)[number];

/** Not `SVC_…`: those are svc's own settings, and it would warn of the others. */
export function environmentName(secret: ExportedSecret): string {
  return secret.name.toUpperCase();
}

/** Name of the environment variable that a document of this format takes a secret from. */
export function variableName(secret: ExportedSecret, format: Format): string {
  return format === 'hcl' ? `TF_VAR_${secret.name}` : environmentName(secret);
}

/**
 * A file that gives all the variables: `*.auto.tfvars` for Terraform, for the declared file assignments
 * that a shell reads.
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
