import { CHANNEL_OPERATOR_SETTINGS } from '@svc/coordinator/alerts/registry.ts';
import type { OperatorValues } from '@svc/coordinator/alerts/sender.ts';
import { readEnvironment } from '@svc/shared/settings/environment.ts';

/** An address without a listener, so that nothing leaves the machine by mistake. */
const NOWHERE = 'http://127.0.0.1:1';
const HEX = '0123456789abcdef'.repeat(2);

type ChannelSettings = typeof CHANNEL_OPERATOR_SETTINGS;
type ChannelVariable = ChannelSettings[keyof ChannelSettings]['name'];

/** Variables with which every kind of channel can be created. */
export const OPERATOR_ENVIRONMENT: Readonly<Record<ChannelVariable | 'SVC_CHAT_HOSTS', string>> = {
  SVC_TELEGRAM_BOT_TOKEN: '123456:bot-token-of-the-tests',
  SVC_TELEGRAM_BASE_URL: NOWHERE,
  SVC_PUSH_A_BASE_URL: NOWHERE,
  SVC_CHAT_HOSTS: '*',
  SVC_SMTP_URL: 'smtp://127.0.0.1:1',
  SVC_MAIL_FROM: 'svc <svc@example.com>',
  SVC_TWILIO_ACCOUNT_SID: `AC${HEX}`,
  SVC_TWILIO_AUTH_TOKEN: 'twilio-token-of-the-tests',
  SVC_TWILIO_SMS_FROM: '+14155550100',
  SVC_TWILIO_WHATSAPP_FROM: '+14155550100',
  SVC_TWILIO_CONTENT_SID_ERROR: `HX${HEX}`,
  SVC_TWILIO_CONTENT_SID_DEGRADED: `HX${HEX}`,
  SVC_TWILIO_CONTENT_SID_RECOVERED: `HX${HEX}`,
  SVC_TWILIO_CONTENT_SID_TEST: `HX${HEX}`,
  SVC_TWILIO_BASE_URL: NOWHERE,
  SVC_INCIDENT_A_BASE_URL: NOWHERE,
  SVC_INCIDENT_B_US_BASE_URL: NOWHERE,
  SVC_INCIDENT_B_EU_BASE_URL: NOWHERE,
};

/** The settings of the operator that kinds of channel read, each with a value. */
export const OPERATOR_VALUES: OperatorValues = readEnvironment(
  CHANNEL_OPERATOR_SETTINGS,
  OPERATOR_ENVIRONMENT,
).values;
