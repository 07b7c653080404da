import { isIPv4 } from 'node:net';

/**
 * Returns the proxy for a server from the environment, as kubectl does: `HTTPS_PROXY` and `HTTP_PROXY` (or lower case),
 * except for this machine and for what `NO_PROXY` names: `*`, addresses, networks such as `10.0.0.0/8`, and domains
 * with their subdomains.
 */
export function proxyFor({ protocol, hostname, port }: URL, env: NodeJS.ProcessEnv): string | undefined {
  const named = (name: string): string => (env[name] || env[name.toLowerCase()] || '').trim();
  const proxy = named(protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY');
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  if (proxy === '' || isThisMachine(host)) return undefined;
  const own = port || (protocol === 'https:' ? '443' : '80');
  const isExempt = named('NO_PROXY')
    .split(',')
    .some((entry) => matches(entry.trim().toLowerCase(), host, own));
  if (isExempt) return undefined;
  return proxy.includes('://') ? proxy : `http://${proxy}`;
}

const isThisMachine = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));

function matches(entry: string, host: string, port: string): boolean {
  if (entry === '') return false;
  if (entry === '*') return true;
  const [network = '', bits] = entry.split('/');
  if (bits !== undefined) return isIPv4(network) && isIPv4(host) && inNetwork(host, network, Number(bits));
  const withPort = /^([^:]+):(\d+)$/.exec(entry);
  if (withPort !== null && withPort[2] !== port) return false;
  const name = (withPort?.[1] ?? entry).replace(/^\*(?=\.)/, '').replace(/^\[|\]$/g, '');
  return name.startsWith('.') ? host.endsWith(name) : host === name || host.endsWith(`.${name}`);
}

function inNetwork(host: string, network: string, bits: number): boolean {
  if (!Number.isInteger(bits) || bits < 0 || bits > 32) return false;
  const shift = 2 ** (32 - bits);
  return Math.floor(numberOf(host) / shift) === Math.floor(numberOf(network) / shift);
}

const numberOf = (address: string): number => address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
