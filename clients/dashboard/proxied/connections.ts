import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How long a connection may last that is to end, in milliseconds: for the answers that it owes. */
const END_WITHIN_MS = 10_000;

interface Connection {
  socket: Socket;
  /** How many requests have no answer yet. */
  owed: number;
  isEnding: boolean;
}

/** What one connection has and no other at the same time; of TLS and of what carries it alike. */
const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

/** The connections of a server, including ones that are still in the handshake. */
export class Connections {
  readonly #all = new Map<string, Connection>();

  add(socket: Socket): void {
    const [key, connection] = [keyOf(socket), { socket, owed: 0, isEnding: false }];
    this.#all.set(key, connection);
    socket.on('close', () => {
      if (this.#all.get(key) === connection) this.#all.delete(key);
    });
  }

  /** Counts a request until its answer is through. */
  follow({ socket }: IncomingMessage, response: ServerResponse): void {
    const connection = this.#all.get(keyOf(socket));
    if (connection === undefined) return;
    connection.owed++;
    response.on('close', () => {
      connection.owed--;
      if (connection.owed === 0 && connection.isEnding) socket.end();
    });
  }

  /** Ends all connections that there are now, once they have the answers that they are owed. */
  end(): void {
    const all = [...this.#all.values()];
    for (const connection of all) {
      connection.isEnding = true;
      if (connection.owed === 0) connection.socket.destroy();
    }
    setTimeout(() => all.forEach(({ socket }) => socket.destroy()), END_WITHIN_MS).unref();
  }
}
