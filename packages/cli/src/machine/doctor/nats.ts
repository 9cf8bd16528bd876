import { SvcError } from '@svc/shared/errors.ts';
import { MAX_HEARTBEAT_BYTES, UNSTORED_TODO } from '@svc/shared/messages/heartbeat.ts';
import { AGENT_QUEUE, heartbeatSubject, jobsSubject, resultsSubject } from '@svc/shared/messages/subjects.ts';
import { busOptionsOf } from '@svc/shared/nats/nats-settings.ts';
import { parseNatsServers, shownServers } from '@svc/shared/nats/servers.ts';
import { NatsTrial } from '@svc/shared/nats/trial.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import { type FoundNames, nameProblem } from '../../name-lookups.ts';
import { type Finding, findingsOf, type Subject } from './finding.ts';

const { ok, warning, failed, skipped } = findingsOf('nats');

const MINIMUM = [2, 9, 10];
/** Duration of a round trip above which there is a warning, because checks begin late, ms. */
const FAR_MS = 500;

/**
 * Connects to each NATS server as the process would. Over the first one that answers, it tries operations
 * that the key must allow, and for an agent also operations that the key must not allow.
 */
export async function natsFindings(subject: Subject, names: FoundNames): Promise<Finding[]> {
  const { config, role } = subject;
  const servers = parseNatsServers(config.natsUrl.reveal());
  const known = servers.addresses.filter(
    (_, index) => nameProblem(servers.hosts[index] ?? '', names) === null,
  );
  if (known.length === 0)
    return [
      skipped('no server of SVC_NATS_URL was tried: their names cannot be resolved', 'look at dns first'),
    ];
  const inbox = role === 'agent' ? { inboxPrefix: `_INBOX_${config.region}` } : {};
  const options = { ...busOptionsOf(config), ...inbox, name: `svc doctor ${role}` };
  const opened = await Promise.allSettled(known.map((server) => NatsTrial.open({ ...options, server })));
  const trials = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  try {
    const answering = await Promise.all(trials.map(answers));
    const working = trials.find((_, index) => answering[index]?.error === null);
    const found = opened.flatMap((each, index) => {
      const shown = shownServers({ addresses: [known[index] ?? ''], requiresTls: servers.requiresTls });
      if (each.status === 'rejected') return [unreachable(shown, each.reason, working !== undefined)];
      const { ms, error } = answering[trials.indexOf(each.value)] ?? { ms: 0, error: null };
      return error === null
        ? [serverFinding(each.value, shown), distance(ms, shown)]
        : [hanging(shown, error)];
    });
    if (working === undefined) return found;
    return [
      ...found,
      ...(role === 'agent' ? await ofAgent(working, config.region) : await ofCoordinator(working)),
    ];
  } catch (error) {
    return [hanging(shownServers(servers), error)];
  } finally {
    await Promise.all(trials.map((trial) => trial.close()));
  }
}

/** The time of a round trip, or the error of a server that does not answer. */
async function answers(trial: NatsTrial): Promise<{ ms: number; error: unknown }> {
  try {
    return { ms: Math.round(await trial.roundTripMs()), error: null };
  } catch (error) {
    return { ms: 0, error };
  }
}

function hanging(shown: string, error: unknown): Finding {
  if (!(error instanceof SvcError && error.code === 'nats-unreachable')) throw error;
  return failed(
    `${shown} takes connections and then hangs: ${error.message}`,
    'look at the process and the log of the NATS server, and at what lies between here and there',
  );
}

function unreachable(shown: string, error: unknown, hasOther: boolean): Finding {
  const isRefused = error instanceof SvcError && error.code === 'nats-refused';
  const why = error instanceof Error ? error.message : String(error);
  if (isRefused)
    return failed(
      `${shown} does not know this key (${why})`,
      'take SVC_NATS_NKEY from "svc region add", copy accounts.conf to this server, and reload it twice; "svc region list" shows its keys',
    );
  const what = `cannot connect to ${shown}: ${why}`;
  return hasOther
    ? warning(
        what,
        'svc goes on with the other servers: start this one, or look at its address and certificate',
      )
    : failed(
        what,
        'look at the address, the firewall and the log of the NATS server; with a CA of your own set SVC_NATS_CA',
      );
}

function serverFinding(trial: NatsTrial, shown: string): Finding {
  const { version, hasJetStream, isEncrypted } = trial.server;
  const what = `connected to ${shown}, version ${version}${isEncrypted ? ', with TLS' : ''}`;
  if (isOld(version)) return failed(what, `svc needs ${MINIMUM.join('.')} or newer: update the server`);
  if (!hasJetStream)
    return failed(`${what}, without JetStream`, 'add a jetstream block to the configuration of the server');
  return ok(what);
}

function isOld(version: string): boolean {
  const parts = version.split(/[.-]/).map(Number);
  const first = MINIMUM.findIndex((least, index) => (parts[index] ?? 0) !== least);
  return first !== -1 && (parts[first] ?? 0) < (MINIMUM[first] ?? 0);
}

function distance(ms: number, shown: string): Finding {
  const what = `a round trip to ${shown} takes ${ms} ms`;
  return ms > FAR_MS
    ? warning(what, 'look at the network: checks begin late, and heartbeats may be missed')
    : ok(what);
}

async function ofAgent(trial: NatsTrial, region: Region): Promise<Finding[]> {
  const other = REGIONS.find((each) => each !== region) ?? region;
  return [
    await mayReport(trial, region),
    (await trial.maySubscribe(jobsSubject(region), AGENT_QUEUE))
      ? ok(`the key may take jobs of ${region}`)
      : failed(`the key may not take jobs of ${region}`, OTHER_REGION),
    await maySendHeartbeats(trial, region),
    await isBound(trial, region, other),
  ];
}

const OTHER_REGION =
  'the key is of another region: take SVC_NATS_NKEY and SVC_REGION from the same env file of "svc region add"';

async function mayReport(trial: NatsTrial, region: Region): Promise<Finding> {
  const subject = resultsSubject(region);
  const answer = await trial.streamAnswer(subject);
  switch (answer) {
    case 'reached':
      return ok(`the key may report results of ${region}, and their stream answers`);
    case 'refused':
      return failed(`the key may not report results of ${region}`, OTHER_REGION);
    case 'unanswered':
      return warning(
        `no stream answers for results of ${region}`,
        'the coordinator makes it when it sees the first agent of the region: start both. If they run, look at "svc status" and at the disk and the log of the NATS server',
      );
  }
}

async function maySendHeartbeats(trial: NatsTrial, region: Region): Promise<Finding> {
  const subject = heartbeatSubject(region, 'svc-doctor');
  // The message is too long for a heartbeat, so the stream does not store it.
  const payload = ' '.repeat(MAX_HEARTBEAT_BYTES + 1);
  if (!(await trial.mayPublish(subject, payload)))
    return failed(`the key may not send heartbeats of ${region}`, OTHER_REGION);
  return (await trial.hasReceiver(subject, payload))
    ? ok(`the key may send heartbeats, and NATS stores those of ${region}`)
    : warning(`NATS stores no heartbeats of ${region}`, UNSTORED_TODO);
}

/** Checks that an agent's key can neither listen to another region's jobs and results nor manage streams. */
async function isBound(trial: NatsTrial, region: Region, other: Region): Promise<Finding> {
  const allowed = [
    ...((await trial.maySubscribe(jobsSubject(other))) ? [`listen to jobs of ${other}`] : []),
    ...((await trial.maySubscribe(resultsSubject(other))) ? [`listen to results of ${other}`] : []),
    ...((await trial.maySubscribe('$JS.>')) ? ['manage streams'] : []),
  ];
  if (allowed.length === 0) return ok(`the key is refused what is not of ${region}`);
  return warning(
    `the key may also ${allowed.join(', ')}`,
    'give each region an account of its own: "svc region add" makes it',
  );
}

async function ofCoordinator(trial: NatsTrial): Promise<Finding[]> {
  const [region] = REGIONS;
  const isRefused = [
    ...((await trial.maySubscribe('svc.runs.*.*')) ? [] : ['hear agents']),
    ...((await trial.maySubscribe('$JS.API.>')) ? [] : ['manage streams']),
  ];
  const answers = await trial.askAll('$JS.API.INFO', {});
  return [
    isRefused.length === 0
      ? ok('the key may hear agents and manage streams')
      : failed(
          `the key may not ${isRefused.join(', ')}`,
          `this is no key of the coordinator: "svc region init" prints it (a key of ${region} is one of agents)`,
        ),
    answers.length > 0 && !answers.join().includes('"error"')
      ? ok('JetStream answers')
      : failed(
          'JetStream does not answer',
          'look at the disk and the log of the NATS server; a cluster needs most of its servers, and some 10 s after their start',
        ),
    ...(trial.server.isInCluster ? await copiesOf(trial) : []),
  ];
}

/** Whether each stream has all its copies, so that a server may be stopped. */
async function copiesOf(trial: NatsTrial): Promise<Finding[]> {
  const copies = await trial.copies();
  if (copies === null) return [];
  const { all, incomplete } = copies;
  if (incomplete.length === 0) return [ok(`each of ${all.length} streams has all its copies`)];
  return [
    warning(
      `${incomplete.length} of ${all.length} streams lack a current copy: ${incomplete.slice(0, 3).join(', ')}${incomplete.length > 3 ? ', …' : ''}`,
      'stop no other NATS server meanwhile; a server that has started fetches what it lacks',
    ),
  ];
}
