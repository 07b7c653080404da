import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Failure } from '../../cli/failure.ts';
import { answering, type Answers, type PageFiles } from './answer.ts';
import { LoopbackDoor } from './loopback-door.ts';

export interface RunningServer {
  port: number;
  /** The address with the token. */
  url: string;
  close: () => Promise<void>;
}

const HOSTS = ['127.0.0.1', '::1'] as const;
const TRIES = 10;

/** Serves on the loopback addresses alone. `port` 0: any that is free. Throws `Failure` if the port is taken. */
export async function serve(answers: Answers, files: PageFiles, port: number): Promise<RunningServer> {
  const answer = await answering(files);
  let listener: RequestListener | undefined;
  const servers = await listenOnBoth((request, response) => listener!(request, response), port);
  const actualPort = (servers[0]!.address() as AddressInfo).port;
  const door = new LoopbackDoor(actualPort, answers);
  listener = answer(door);
  return {
    port: actualPort,
    url: `http://127.0.0.1:${actualPort}/#token=${door.token}`,
    close: async () => {
      answers.stream.stop();
      await Promise.all(servers.map(ended));
    },
  };
}

/** A machine may have no IPv6. A free port may be taken in it. */
async function listenOnBoth(listener: RequestListener, port: number): Promise<Server[]> {
  for (let tries = 1; ; tries++) {
    const first = await listenOn(listener, HOSTS[0], port);
    const actualPort = (first.address() as AddressInfo).port;
    try {
      return [first, await listenOn(listener, HOSTS[1], actualPort)];
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT') return [first];
      await ended(first);
      if (port !== 0 || tries === TRIES) throw error;
    }
  }
}

async function listenOn(listener: RequestListener, host: string, port: number): Promise<Server> {
  const server = createServer({ requestTimeout: 30_000 }, listener);
  const listening = Promise.withResolvers<void>();
  server.once('error', (error: NodeJS.ErrnoException) =>
    listening.reject(
      error.code === 'EADDRINUSE'
        ? new Failure(`port ${port} of ${host} is taken: give another one with --port, or none for a free one`)
        : error,
    ),
  );
  server.listen({ host, port, ipv6Only: true }, listening.resolve);
  await listening.promise;
  return server;
}

async function ended(server: Server): Promise<void> {
  const closed = Promise.withResolvers<void>();
  server.close(() => closed.resolve());
  server.closeAllConnections();
  await closed.promise;
}
