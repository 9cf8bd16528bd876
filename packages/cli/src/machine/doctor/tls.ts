import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { messageOf } from '@svc/shared/errors.ts';
import { parseNatsServers } from '@svc/shared/nats/servers.ts';
import { type FoundNames, nameProblem } from '../../name-lookups.ts';
import { type Finding, findingsOf, type Subject } from './finding.ts';
import { ANSWER_MS, onceWithin } from './once-within.ts';

const { ok, warning, failed, skipped } = findingsOf('tls');

const DAY_MS = 86_400_000;
/** Remaining validity below which a certificate gets a warning, in days. */
const SOON_DAYS = 21;

/** Checks the certificates of the NATS servers, and of the coordinator's API when it serves TLS itself. */
export async function tlsFindings(subject: Subject, now: number, names: FoundNames): Promise<Finding[]> {
  const { requiresTls, addresses } = parseNatsServers(subject.config.natsUrl.reveal());
  const isEncrypted = requiresTls || subject.config.natsCa !== undefined;
  const ofNats = isEncrypted
    ? await Promise.all(addresses.map((address) => natsCertificate(address, now, names)))
    : [skipped('the connection to NATS has no TLS', 'none is needed on loopback; use tls:// beyond it')];
  return [...ofNats, ...(subject.role === 'coordinator' ? await ofApi(subject.config, now) : [])];
}

function unseen(address: string, why: string): Finding {
  return skipped(
    `the certificate of ${address} was not seen: ${why}`,
    'look at what is said about names and NATS first',
  );
}

/**
 * Reads a NATS server's certificate without verifying it. The process itself verifies it when it connects.
 */
async function natsCertificate(address: string, now: number, names: FoundNames): Promise<Finding> {
  const { hostname, port } = new URL(`nats://${address}`);
  const host = hostname.replace(/^\[|\]$/g, '');
  const problem = nameProblem(host, names);
  if (problem !== null) return unseen(address, problem);
  const within = AbortSignal.timeout(ANSWER_MS);
  let socket: Socket | undefined;
  try {
    socket = connectTcp(Number(port || 4_222), host);
    // A NATS server sends its first message in clear text. Then the connection changes to TLS.
    await onceWithin(socket, 'data', within);
  } catch (error) {
    socket?.destroy();
    return unseen(address, messageOf(error));
  }
  try {
    const secured = connectTls({
      socket,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      rejectUnauthorized: false,
    });
    await onceWithin(secured, 'secureConnect', within);
    const certificate = secured.getPeerX509Certificate();
    secured.destroy();
    if (certificate === undefined)
      return failed(`${address} shows no certificate`, 'look at its configuration');
    return validity(`the certificate of ${address}`, certificate, now);
  } catch (error) {
    return failed(
      `${address} shows no certificate: ${messageOf(error)}`,
      'look at the tls block of the NATS server',
    );
  } finally {
    socket.destroy();
  }
}

async function ofApi(
  config: { tlsCert?: string | undefined; tlsKey?: string | undefined; publicUrl?: string | undefined },
  now: number,
): Promise<Finding[]> {
  const { tlsCert, tlsKey, publicUrl } = config;
  if (tlsCert === undefined || tlsKey === undefined) return [];
  try {
    const certificate = new X509Certificate(await readFile(tlsCert));
    const key = createPrivateKey(await readFile(tlsKey));
    const findings = [validity(tlsCert, certificate, now)];
    if (!certificate.checkPrivateKey(key))
      findings.push(
        failed(`${tlsKey} is not the key of ${tlsCert}`, 'set the pair that was issued together'),
      );
    const host = publicUrl === undefined ? null : new URL(publicUrl).hostname.replace(/^\[|\]$/g, '');
    if (host !== null && certificate.checkHost(host) === undefined && certificate.checkIP(host) === undefined)
      findings.push(
        warning(
          `${tlsCert} is not for ${host}, the host of SVC_PUBLIC_URL`,
          'let it be issued for that name',
        ),
      );
    return findings;
  } catch (error) {
    return [
      failed(
        `cannot use SVC_TLS_CERT and SVC_TLS_KEY: ${messageOf(error)}`,
        'give the user of the coordinator two PEM files that it can read',
      ),
    ];
  }
}

function validity(name: string, { validFromDate, validToDate }: X509Certificate, now: number): Finding {
  const days = Math.floor((validToDate.getTime() - now) / DAY_MS);
  const until = validToDate.toISOString().slice(0, 10);
  const todo =
    'put the next one in its place; svc and NATS read it without a restart ("nats-server --signal reload")';
  if (validFromDate.getTime() > now)
    return failed(`${name} is not valid before ${validFromDate.toISOString()}`, 'look at the clock');
  if (days < 0) return failed(`${name} has expired on ${until}`, todo);
  return days < SOON_DAYS
    ? warning(`${name} ends in ${days} days`, todo)
    : ok(`${name} is valid until ${until}`);
}
