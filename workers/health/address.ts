import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { createServer, isIPv6, type AddressInfo } from 'node:net';

interface Address {
  address: string;
  port: number;
}

/** Every address of a machine, of IPv4 and of IPv6. */
const ALL = '::';
const ALL_OF_IPV4 = '0.0.0.0';

/** Returns the IP address to listen on; for `::`, all addresses of IPv4 if the machine knows no IPv6. */
export async function addressToServe(name: string): Promise<string> {
  if (name !== ALL) return (await lookup(name)).address;
  // Without an address, Node takes the one that the machine has.
  const server = createServer().listen(0);
  await once(server, 'listening');
  const { address: all } = server.address() as AddressInfo;
  server.close();
  return all;
}

/** Returns where a client on the same machine asks a server that listens there. */
export const toAsk = ({ address, port }: Address): Address => ({
  address: address === ALL || address === ALL_OF_IPV4 ? '127.0.0.1' : address,
  port,
});

/** Returns both as they are written in a URL. */
export const hostAndPort = ({ address, port }: Address): string =>
  isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`;
