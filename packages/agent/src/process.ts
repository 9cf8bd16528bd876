import { systemClock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import { createLogger } from '@svc/shared/log.ts';
import { connectBus } from '@svc/shared/nats/nats-bus.ts';
import { busOptionsOf } from '@svc/shared/nats/nats-settings.ts';
import { otlpWarnings } from '@svc/shared/otlp/without-effect.ts';
import { ownExportOf } from '@svc/shared/own-metrics/own-metrics-settings.ts';
import { endWhenAsked, sayReady, settingsOfProcess } from '@svc/shared/process/service-process.ts';
import { proxyFor } from '@svc/shared/proxy/proxy.ts';
import { SYSTEM_STORE_UNUSED, trustsSystemStore } from '@svc/shared/server-trust.ts';
import { checkSharedSettings } from '@svc/shared/settings/common-settings.ts';
import { VERSION } from '@svc/shared/version.ts';
import { Agent } from './app.ts';
import { AGENT_SETTINGS } from './config.ts';
import { createReferenceList } from './network/reference-list.ts';
import { createProbeSet } from './probes/registry.ts';

/** The process exits at the latest this long after the end of the drain time, ms. */
const EXIT_GRACE_MS = 500;

/** Runs one agent for the life of this process. */
export async function runAgent(args: readonly string[]): Promise<void> {
  const settings = settingsOfProcess('agent', args, AGENT_SETTINGS, checkSharedSettings);
  if (settings === null) return;
  const { values: config, warnings } = settings;
  const log = createLogger('agent', config.logLevel);

  let agent: Agent | null = null;
  let isEnding = false;
  const end = (why: string): void => {
    // A second signal ends the process at once.
    if (isEnding) process.exit(1);
    isEnding = true;
    log.info({ why, drainMs: config.drainMs }, 'the agent is ending');
    if (agent === null) process.exit(0);
    // A frozen NATS server must not keep this process alive.
    setTimeout(() => process.exit(1), config.drainMs + EXIT_GRACE_MS).unref();
    void agent.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ error }, 'the agent failed to stop cleanly');
        process.exit(1);
      },
    );
  };
  endWhenAsked(config, end);
  // A supervisor starts the coordinator with the same settings, and the coordinator logs the same warnings.
  if (!config.isSupervised)
    for (const warning of [...warnings, ...otlpWarnings(process.env)]) log.warn(warning);

  if (!trustsSystemStore()) log.warn(SYSTEM_STORE_UNUSED);

  // The call waits without a time limit for a NATS server that is not up yet.
  const bus = await connectBus({
    ...busOptionsOf(config),
    name: `svc agent ${config.region}`,
    inboxPrefix: `_INBOX_${config.region}`,
    log,
  });
  const probeSet = createProbeSet({
    ...config,
    userAgent: `svc/${VERSION}`,
    proxyFor: proxyFor(config.probeProxy?.reveal(), config.noProxy),
  });
  const references = createReferenceList({
    hosts: config.referenceHosts,
    dnsServers: config.dnsServers,
    natsUrl: config.natsUrl.reveal(),
    bus,
  });
  try {
    agent = new Agent({
      config,
      bus,
      probeSet,
      references,
      ownExport: { settings: ownExportOf(config), ca: config.probeCa ?? [] },
      clock: systemClock,
      log,
    });
    await agent.start();
  } catch (error) {
    log.fatal({ error: messageOf(error) }, 'the agent cannot start');
    process.exit(1);
  }
  log.info({ event: 'ready', agent: agent.id, region: config.region }, 'the agent takes jobs');
  sayReady();
}
