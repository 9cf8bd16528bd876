import { checkNatsSettings, type NatsConfig } from '../nats/nats-settings.ts';
import { type ExportTlsConfig, exportTlsProblem } from '../otlp/tls.ts';
import type { SettingsCheck } from './environment.ts';

/** What must hold of several settings together that coordinator and agent have both. */
export const checkSharedSettings: SettingsCheck<NatsConfig & ExportTlsConfig> = (config) => {
  const { problems, warnings } = checkNatsSettings(config);
  const ofExport = exportTlsProblem(config);
  return { problems: ofExport === null ? problems : [...problems, ofExport], warnings };
};
