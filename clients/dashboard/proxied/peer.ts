import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';
import type { Refusal } from '../server/refusal.ts';

/**
 * Returns why this peer may not name users; null if it has shown a certificate of the authority with one of `names`, or
 * with any name if there are none. The API server trusts its front proxy in the same way
 * (`--requestheader-client-ca-file`, `--requestheader-allowed-names`). Checked for each request: a connection may
 * outlive its certificate.
 */
export function refusalOfPeer(socket: TLSSocket, names: readonly string[], now = Date.now()): Refusal | null {
  if (!socket.authorized) return unproved(`${socket.authorizationError ?? 'its certificate is not accepted'}`);
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return unproved('it has no certificate');
  if (now < Date.parse(certificate.validFrom) || now > Date.parse(certificate.validTo))
    return unproved('its certificate is not valid now');
  if (names.length === 0) return null;
  const { subject } = socket.getPeerCertificate(true);
  const own = namesOf(subject, certificate.subjectAltName);
  return own.some((name) => names.includes(name))
    ? null
    : unproved(`its certificate is for ${own.join(', ') || 'no name'}, which is not among the names that are allowed`);
}

const unproved = (message: string): Refusal => ({
  status: 401,
  sentence: `this server answers only a proxy with the right client certificate: ${message}`,
});

/**
 * The common name, and alternative names that are DNS names or URIs. A value with a comma or a quote in it stands in
 * quotes, and is none of these.
 */
function namesOf({ CN }: DetailedPeerCertificate['subject'], alternative = ''): string[] {
  const plain = alternative.replaceAll(/"(?:[^"\\]|\\.)*"/g, '');
  const others = plain.split(', ').flatMap((one) => /^(?:DNS|URI):(.+)$/.exec(one)?.[1] ?? []);
  // Of several common names, it is not said which counts.
  return [...(typeof CN === 'string' ? [CN] : []), ...others];
}
