import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';

/** The rules as Prometheus reads them. */
export const RULES_FILE = new URL('../prometheus/svc.rules.yaml', import.meta.url);

const rule = z.strictObject({
  alert: z.string().regex(/^Svc([A-Z][a-z]+)+$/),
  expr: z.string(),
  for: z.string().optional(),
  labels: z.strictObject({ severity: z.enum(['critical', 'warning']) }),
  annotations: z.strictObject({
    summary: z.string().endsWith('.'),
    description: z.string().endsWith('.'),
    runbook_url: z.string(),
  }),
});

const rulesFile = z.strictObject({
  groups: z.array(z.strictObject({ name: z.string(), rules: z.array(rule) })),
});

export type AlertRule = z.infer<typeof rule>;

/** Every alert rule, in the order of the file. */
export function alertRules(): AlertRule[] {
  return rulesFile.parse(parse(readFileSync(RULES_FILE, 'utf8'))).groups.flatMap(({ rules }) => rules);
}

/** The anchor of the alert's section in `docs/operations.md`: `alarm-svc-region-without-agent`. */
export function anchorOf(alert: string): string {
  return `alarm${alert.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
