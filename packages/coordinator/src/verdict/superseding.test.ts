import { expect, test } from 'vitest';
import { OLD_MS, supersededBy, type WaitingAlert } from './superseding.ts';

const ALERT: WaitingAlert = {
  isEnd: false,
  ageMs: 0,
  hasNewer: false,
  hasNewerOfIncident: false,
  isAnnounced: false,
  isOpen: false,
  isReminder: false,
  isNotice: false,
  isReplayed: false,
};
const ENDED = { isEnd: true, isAnnounced: false } as const;
const BEHIND = { hasNewer: true, hasNewerOfIncident: true } as const;
const CHAT = { closesIncidents: false, dropsOld: false, isHuman: true };
const INCIDENTS = { closesIncidents: true, dropsOld: false, isHuman: false };
const SMS = { closesIncidents: false, dropsOld: true, isHuman: true };

test.each([
  ['the first alert of an incident is sent', {}, CHAT, null],
  ['a chat gets every alert, also those with a successor', BEHIND, CHAT, null],
  ['a kind that keeps incidents open gets only the newest alert of each', BEHIND, INCIDENTS, 'newer'],
  ['a recovery behind a reminder takes its place', { ...BEHIND, isReminder: true }, CHAT, 'newer'],
  ['a reminder without a successor is sent', { isReminder: true, isOpen: true }, CHAT, null],
  ['a reminder of what is over or acknowledged is left out', { isReminder: true }, CHAT, 'over'],
  ['a notice is sent to people', { isNotice: true }, CHAT, null],
  ['a notice that waited while the kind was changed is left out', { isNotice: true }, INCIDENTS, 'not-human'],
  ['so is one that is replayed after that', { isNotice: true, isReplayed: true }, INCIDENTS, 'not-human'],
  ['an alert with only another incident behind it is sent', { hasNewer: true }, INCIDENTS, null],
  ['an SMS of an hour ago with a successor is left out', { ...BEHIND, ageMs: OLD_MS + 1 }, SMS, 'old'],
  ['one without a successor is sent', { ageMs: OLD_MS + 1 }, SMS, null],
  ['a younger one is sent', { ...BEHIND, ageMs: OLD_MS }, SMS, null],
  ['the end of what was never announced is left out', ENDED, CHAT, 'never-announced'],
  ['the end of what was announced is sent', { ...ENDED, isAnnounced: true }, CHAT, null],
  ['a replay is sent in any other case', { ...ENDED, ...BEHIND, isReplayed: true }, INCIDENTS, null],
] as const)('%s', (_name, alert, kind, expected) => {
  expect(supersededBy({ ...ALERT, ...alert }, kind)).toBe(expected);
});
