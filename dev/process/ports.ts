import { createServer, type Server } from 'node:net';

/** The ports of a stack, all on 127.0.0.1. etcd has none: it listens on a socket in the stack's folder. */
export interface StackPorts {
  temporal: number;
  ui: number;
  apiserver: number;
  simulator: number;
}

export type PortName = keyof StackPorts;
export const portNames: readonly PortName[] = ['temporal', 'ui', 'apiserver', 'simulator'];

/** Ports below the ephemeral ports of Linux and macOS, and below Kubernetes' node ports, where conflicts are rare. */
const QUIET = { first: 20_000, count: 10_000 };
const QUIET_ATTEMPTS = 20;

/**
 * Returns a port for each of `names`: the requested one, else the last run's if it is still free, else any free one.
 * Throws if a requested port is taken.
 */
export async function choosePorts(
  names: readonly PortName[],
  requested: Partial<StackPorts>,
  last: Partial<StackPorts>,
): Promise<Partial<StackPorts>> {
  const servers: Server[] = [];
  const reserve = async (port: number): Promise<number | undefined> => {
    const server = await reservePort(port);
    if (server === undefined) return undefined;
    servers.push(server);
    return (server.address() as { port: number }).port;
  };
  const reserveAny = async (): Promise<number | undefined> => {
    for (let attempt = 0; attempt < QUIET_ATTEMPTS; attempt++) {
      const port = await reserve(QUIET.first + Math.floor(Math.random() * QUIET.count));
      if (port !== undefined) return port;
    }
    return reserve(0);
  };
  try {
    const chosen: Partial<StackPorts> = {};
    for (const name of names) {
      const port = requested[name];
      if (port === undefined) continue;
      const reserved = await reserve(port);
      if (reserved === undefined)
        throw new Error(`port ${port} on 127.0.0.1 is taken; free it, or give another with --${name}-port`);
      chosen[name] = reserved;
    }
    for (const name of names) {
      const port =
        chosen[name] ?? (last[name] === undefined ? undefined : await reserve(last[name])) ?? (await reserveAny());
      if (port !== undefined) chosen[name] = port;
    }
    return chosen;
  } finally {
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

/** Returns a server that holds the port on 127.0.0.1 until it is closed; undefined if the port is taken. */
export function reservePort(port: number): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(new Error(`port ${port} on 127.0.0.1 can't be used: ${error.message}; give another`));
    });
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => resolve(server));
  });
}
