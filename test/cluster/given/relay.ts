import { once } from 'node:events';
import { connect, createServer, isIP, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Cluster } from '@kubernetes/client-node';

const LOOPBACK = '127.0.0.1';

/**
 * Stands between drover and the API server of a given cluster, which no test may end. While the relay is closed, its
 * clients see what they see of an API server that was killed: their connections end, and new ones are refused.
 */
export class Relay {
  /** The API server as it is reached through the relay. */
  readonly cluster: Cluster;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;
  readonly #port: number;

  private constructor(cluster: Cluster, server: Server, sockets: Set<Socket>) {
    this.cluster = cluster;
    this.#server = server;
    this.#sockets = sockets;
    this.#port = (server.address() as AddressInfo).port;
  }

  /** Returns undefined if clients could not check the API server's certificate through a relay. */
  static async to(cluster: Cluster): Promise<Relay | undefined> {
    const url = new URL(cluster.server);
    const { hostname } = url;
    const isAddress = isIP(hostname.replaceAll(/[[\]]/g, '')) !== 0;
    if (cluster.proxyUrl || (isAddress && hostname !== LOOPBACK)) return undefined;
    const port = Number(url.port || 443);
    const sockets = new Set<Socket>();
    const server = createServer((client) => join(sockets, client, connect(port, hostname)));
    server.listen(0, LOOPBACK);
    await once(server, 'listening');
    url.hostname = LOOPBACK;
    url.port = String((server.address() as AddressInfo).port);
    const tlsServerName = cluster.tlsServerName ?? (isAddress ? undefined : hostname);
    return new Relay({ ...cluster, server: url.href, ...(tlsServerName && { tlsServerName }) }, server, sockets);
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async open(): Promise<void> {
    if (this.#server.listening) return;
    this.#server.listen(this.#port, LOOPBACK);
    await once(this.#server, 'listening');
  }
}

function join(sockets: Set<Socket>, client: Socket, upstream: Socket): void {
  for (const socket of [client, upstream]) {
    sockets.add(socket);
    socket
      .on('error', () => {})
      .on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
  }
  client.pipe(upstream).pipe(client);
}
