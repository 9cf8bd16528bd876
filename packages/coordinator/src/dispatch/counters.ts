/** What dispatch has done since the process started; exported as metrics. */
export type DispatchCounters = {
  /** Slots given to at least one region. */
  slots: number;
  /** Slots passed over because they came too late (standstill, clock set forward). */
  slotsMissed: number;
  /** Slots for which no region had a live agent. */
  slotsWithoutAgents: number;
  /** Jobs not given because the region still runs the monitor's earlier slot. */
  skipped: number;
  /** Jobs not given because of overload: of a region's agents, of the recording, of the scheduling thread. */
  shedRegion: number;
  shedRecording: number;
  shedScheduling: number;
  /** How often such an overload has begun. */
  overloads: number;
  /** Jobs published, every offer counted. */
  offers: number;
  /** Offers after the first. */
  reoffers: number;
  /** Messages in which they went. */
  batches: number;
  accepted: number;
  refused: number;
  /** Jobs given up, by reason. */
  abstainedNoAgent: number;
  abstainedJobLost: number;
  abstainedUnsupported: number;
  abstainedInternalError: number;
  /** Accepted jobs that vanished from their agent, or with it. */
  jobsLost: number;
  /** The server said that nobody listens in a region. */
  noResponders: number;
  agentsGone: number;
  /** How often an agent began to find something wrong with itself. */
  agentsSick: number;
  /** A region that monitors declare lost its last agent, or never had one. */
  regionsLost: number;
  /** A region was muted, because its agents said more than is read. */
  regionsMuted: number;
  /** Messages on the agents' subjects that could not be read. */
  droppedMessages: number;
  /** Heartbeats of agents beyond the bound of their region. */
  droppedAgents: number;
  /** Agents that share their id with another one of their region. */
  sharedAgentIds: number;
  /** Batches of results that streams took for repetitions when they were new, as their agents say. */
  disownedBatches: number;
  /** Ticks that came so late that no silence was judged in them. */
  lateTicks: number;
};

export function newCounters(): DispatchCounters {
  return {
    slots: 0,
    slotsMissed: 0,
    slotsWithoutAgents: 0,
    skipped: 0,
    shedRegion: 0,
    shedRecording: 0,
    shedScheduling: 0,
    overloads: 0,
    offers: 0,
    reoffers: 0,
    batches: 0,
    accepted: 0,
    refused: 0,
    abstainedNoAgent: 0,
    abstainedJobLost: 0,
    abstainedUnsupported: 0,
    abstainedInternalError: 0,
    jobsLost: 0,
    noResponders: 0,
    agentsGone: 0,
    agentsSick: 0,
    regionsLost: 0,
    regionsMuted: 0,
    droppedMessages: 0,
    droppedAgents: 0,
    sharedAgentIds: 0,
    disownedBatches: 0,
    lateTicks: 0,
  };
}
