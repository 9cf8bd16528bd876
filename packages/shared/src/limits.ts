/**
 * Maxima that several parts of the service share, with a few defaults. Members with `Bytes` in their names
 * are in bytes, and members with `Ms` in milliseconds. Lengths of what users declare are in characters, that
 * is code points (decision 0011). `errorMessage`, which svc writes and cuts, is in UTF-16 code units.
 */
export const LIMITS = {
  monitorName: 256,
  monitorDescription: 1_024,
  target: 2_048,
  timeoutMs: 120_000,
  defaultTimeoutMs: 45_000,
  retries: 10,
  defaultRetries: 3,
  /** Maximum number of checks in a row that a change of status may need. */
  slotsInARow: 10,
  headers: 20,
  headerName: 256,
  headerValueBytes: 8 * 1_024,
  requestBodyBytes: 256 * 1_024,
  assertions: 10,
  assertionTarget: 8 * 1_024,
  checkBytes: 312 * 1_024,
  channelName: 256,
  credential: 1_024,
  emailDomains: 100,
  pageText: 256,
  pageDescription: 1_024,
  componentText: 256,
  componentDescription: 1_024,
  noteTitle: 256,
  noteText: 8 * 1_024,
  /** Maximum number of maintenance windows in one workspace. */
  maintenanceWindows: 1_000,
  /** Maximum duration of an occurrence of a maintenance window, and of a mute. */
  maintenanceMs: 31 * 24 * 3_600_000,
  /** Maximum number of days, weeks or months between two occurrences. */
  maintenanceInterval: 99,
  /** Maximum number of monitors, pages or components of one maintenance window or incident. */
  noteTargets: 2_000,
  updatesPerIncident: 500,
  errorMessage: 500,
  responseBodyBytes: 2 * 1_024 * 1_024,
  keptBodiesBytes: 64 * 1_024 * 1_024,
  redirects: 10,
  /**
   * Maximum of `certificate_expiry_days`. No authority that browsers trust issues certificates for longer
   * (CA/Browser Forum, Baseline Requirements, section 6.3.2).
   */
  certificateExpiryDays: 398,
  listDefault: 50,
  listMaximum: 100,
  /**
   * A body of the API has room for the largest monitor (`checkBytes`) and for members that the service
   * ignores.
   */
  apiBodyBytes: 320 * 1_024,
  jobsPerMessage: 512,
  resultsPerMessage: 512,
  messageBytes: 256 * 1_024,
  /** Longest time that a job may be sent ahead of its slot. */
  jobAheadMs: 60_000,
} as const;
