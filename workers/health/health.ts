import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { addressToServe } from './address.ts';

export interface Health {
  /** Returns what keeps the worker from taking work; undefined if it takes work. */
  unready: () => string | undefined;
  /** Resolves to the metrics in Prometheus' text format. */
  metrics: () => Promise<string>;
  /** Returns the settings in force, for users and programs. */
  config: () => object;
}

/**
 * Serves `/healthz` (OK while the process lives), `/readyz` (OK while it takes work, and why not otherwise), `/metrics`
 * in Prometheus' text format, and `/config`, the settings in force.
 */
export async function serveHealth(
  { address, port }: { address: string; port: number },
  health: Health,
): Promise<Server> {
  const bodyOf = async (url = '/'): Promise<[number, string]> => {
    const [path] = url.split('?');
    if (path === '/healthz') return [200, 'ok\n'];
    if (path === '/readyz') {
      const unready = health.unready();
      return unready === undefined ? [200, 'ok\n'] : [503, `not ready: ${unready}\n`];
    }
    if (path === '/metrics') return [200, await health.metrics()];
    if (path === '/config') return [200, `${JSON.stringify(health.config(), null, 2)}\n`];
    return [404, 'there are /healthz, /readyz, /metrics and /config\n'];
  };
  const server = createServer((request, response) => {
    const answer = ([status, body]: [number, string]): void =>
      void response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(body);
    // A metric that can't be read fails this request, and does not end the worker.
    bodyOf(request.url).then(answer, (error: unknown) => answer([500, `${(error as Error).message}\n`]));
  });
  server.listen(port, await addressToServe(address));
  await once(server, 'listening');
  return server;
}
