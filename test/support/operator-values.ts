import { CHANNEL_OPERATOR_SETTINGS } from '@svc/coordinator/notify/registry.ts';
import type { OperatorValues } from '@svc/coordinator/notify/sender.ts';
import { readEnvironment } from '@svc/shared/settings.ts';

/** Nothing listens there: what is sent by mistake does not leave the machine. */
const NOWHERE = 'http://127.0.0.1:1';

/** Variables with which every kind of channel can be created. */
export const OPERATOR_ENVIRONMENT: Readonly<Record<string, string>> = {
  SVC_TELEGRAM_BOT_TOKEN: '123456:bot-token-of-the-tests',
  SVC_TELEGRAM_BASE_URL: NOWHERE,
  SVC_PUSH_A_BASE_URL: NOWHERE,
  SVC_CHAT_HOSTS: '*',
};

/** The settings of the operator that kinds of channel read, each with a value. */
export const OPERATOR_VALUES: OperatorValues = readEnvironment(
  CHANNEL_OPERATOR_SETTINGS,
  OPERATOR_ENVIRONMENT,
).values;
