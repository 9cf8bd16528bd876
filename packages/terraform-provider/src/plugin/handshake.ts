/**
 * Name of a variable that Terraform sets for its plug-ins, so
 * that nobody runs a plug-in by mistake. Its value is no secret.
 */
const COOKIE_NAME = 'TF_PLUGIN_MAGIC_COOKIE';
const COOKIE = 'd602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2';

/** Versions of go-plugin's own protocol and of Terraform's provider protocol. */
const CORE_PROTOCOL = 1;
const PROTOCOL = 6;

type Environment = Readonly<Record<string, string | undefined>>;
type Listening = { readonly network: 'unix' | 'tcp'; readonly address: string };

export function isStartedByTerraform(environment: Environment): boolean {
  return environment[COOKIE_NAME] === COOKIE;
}

/** Terraform's client certificate; null: the user turned TLS off (TF_DISABLE_PLUGIN_TLS). */
export function clientCertificateOf(environment: Environment): string | null {
  return environment.PLUGIN_CLIENT_CERT || null;
}

/**
 * The handshake: the one line that Terraform reads from standard output.
 *
 * @param certificate DER; written in Base64 without padding, because go-plugin does not accept padding
 */
export function handshakeLine({ network, address }: Listening, certificate: Buffer | null): string {
  const encoded = certificate === null ? '' : certificate.toString('base64').replace(/=+$/, '');
  return `${CORE_PROTOCOL}|${PROTOCOL}|${network}|${address}|grpc|${encoded}\n`;
}

/**
 * The value of the variable TF_REATTACH_PROVIDERS with which Terraform uses this process and starts no other.
 */
export function reattachValue(provider: string, { network, address }: Listening, processId: number): string {
  return JSON.stringify({
    [provider]: {
      Protocol: 'grpc',
      ProtocolVersion: PROTOCOL,
      Pid: processId,
      Test: true,
      Addr: { Network: network, String: address },
    },
  });
}
