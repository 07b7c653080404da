import { BlockList, isIP } from 'node:net';

/**
 * Returns the proxy for a server from the environment, as kubectl does: `HTTPS_PROXY` and `HTTP_PROXY` (or lower case),
 * except for this machine and for what `NO_PROXY` names: `*`, addresses, networks such as `10.0.0.0/8`, and domains
 * with their subdomains.
 */
export function proxyFor({ protocol, hostname, port }: URL, env: NodeJS.ProcessEnv): string | undefined {
  const variable = (name: string): string => (env[name] || env[name.toLowerCase()] || '').trim();
  const proxy = variable(protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY');
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  if (proxy === '' || isThisMachine(host)) return undefined;
  const own = port || (protocol === 'https:' ? '443' : '80');
  const isExempt = variable('NO_PROXY')
    .split(',')
    .some((entry) => matches(entry.trim().toLowerCase(), host, own));
  if (isExempt) return undefined;
  return proxy.includes('://') ? proxy : `http://${proxy}`;
}

const isThisMachine = (host: string): boolean => host === 'localhost' || LOOPBACK.check(host, familyOf(host));

function matches(entry: string, host: string, port: string): boolean {
  if (entry === '') return false;
  if (entry === '*') return true;
  const [network = '', bits] = entry.split('/');
  if (bits !== undefined) return isIn(host, network, Number(bits));
  const withPort = /^(\[.+\]|[^:]+):(\d+)$/.exec(entry);
  if (withPort !== null && withPort[2] !== port) return false;
  const name = (withPort?.[1] ?? entry).replace(/^\*(?=\.)/, '').replace(/^\[|\]$/g, '');
  if (isIP(name) !== 0) return isIn(host, name, isIP(name) === 4 ? 32 : 128);
  return name.startsWith('.') ? host.endsWith(name) : host === name || host.endsWith(`.${name}`);
}

const familyOf = (host: string): 'ipv4' | 'ipv6' => (isIP(host) === 6 ? 'ipv6' : 'ipv4');

function networkOf(network: string, bits: number): BlockList {
  const list = new BlockList();
  list.addSubnet(network, bits, familyOf(network));
  return list;
}

const LOOPBACK = networkOf('127.0.0.0', 8);
LOOPBACK.addAddress('::1', 'ipv6');

/** Networks in another notation count for nothing. */
function isIn(host: string, network: string, bits: number): boolean {
  const most = { 0: -1, 4: 32, 6: 128 }[isIP(network)] ?? -1;
  const isNetwork = Number.isInteger(bits) && bits >= 0 && bits <= most;
  return isNetwork && isIP(host) === isIP(network) && networkOf(network, bits).check(host, familyOf(host));
}
