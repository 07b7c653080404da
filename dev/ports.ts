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

/**
 * A port for each of `names`: the one that was asked for, else the one of the last run where it is still free, else any
 * free one. Throws where one that was asked for is taken.
 */
export async function choosePorts(
  names: readonly PortName[],
  asked: Partial<StackPorts>,
  last: Partial<StackPorts>,
): Promise<Partial<StackPorts>> {
  const held: Server[] = [];
  const take = async (port: number): Promise<number | undefined> => {
    const server = await listen(port);
    if (server === undefined) return undefined;
    held.push(server);
    return (server.address() as { port: number }).port;
  };
  try {
    const chosen: Partial<StackPorts> = {};
    for (const name of names) {
      const port = asked[name];
      if (port === undefined) continue;
      const taken = await take(port);
      if (taken === undefined) throw new Error(`port ${port} on 127.0.0.1 is taken; free it, or give another with --${name}-port`);
      chosen[name] = taken;
    }
    for (const name of names) {
      const port = chosen[name] ?? (last[name] === undefined ? undefined : await take(last[name])) ?? (await take(0));
      if (port !== undefined) chosen[name] = port;
    }
    return chosen;
  } finally {
    await Promise.all(held.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

/** A server that holds the port, or undefined where the port is taken. */
function listen(port: number): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(new Error(`port ${port} on 127.0.0.1 can't be used: ${error.message}; give another`));
    });
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => resolve(server));
  });
}
