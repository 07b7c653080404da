import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent, request as httpsRequest, type RequestOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { onTestFinished } from 'vitest';

/**
 * What happens to a call: it passes, is carried out but never answered, never reaches the server, hangs, or is answered
 * with a status without reaching the server.
 */
export type Fate =
  | 'pass'
  | 'drop-answer'
  | 'drop-call'
  | 'hang'
  | { status: number; retryAfter?: number; message?: string };

/** Decides what happens to a call. */
export type FateOf = (method: string, path: string) => Fate | Promise<Fate>;

export interface ChaosOptions {
  /** How much later watches hear of a change, in milliseconds. */
  watchLag?: number;
}

interface ChaosProxy {
  kubeconfig: string;
  calls: string[];
  cut: () => void;
}

/**
 * Starts a misbehaving proxy in front of the API server, and returns a kubeconfig for the proxy. It ends with the test.
 */
export async function chaosProxy(kubeconfig: string, fate: FateOf, options: ChaosOptions = {}): Promise<ChaosProxy> {
  const { close, ...proxy } = await startChaosProxy(kubeconfig, fate, options);
  onTestFinished(close);
  return proxy;
}

/** Starts a proxy as `chaosProxy` does, for its caller to close. */
export async function startChaosProxy(
  kubeconfig: string,
  fate: FateOf,
  options: ChaosOptions = {},
): Promise<ChaosProxy & { close: () => void }> {
  const real = new KubeConfig();
  real.loadFromFile(kubeconfig);
  const tls: RequestOptions = {};
  await real.applyToHTTPSOptions(tls);
  const { watchLag = 0 } = options;
  const upstream = new URL(real.getCurrentCluster()!.server);
  const { ca, cert, key, rejectUnauthorized, servername } = tls;
  const agent = new Agent({ keepAlive: true, ca, cert, key, rejectUnauthorized, servername });
  const calls: string[] = [];

  const forward = (incoming: IncomingMessage, response: ServerResponse, drop: boolean): void => {
    const { method, url: path, headers } = incoming;
    const options = {
      host: upstream.hostname,
      port: upstream.port,
      method,
      path,
      agent,
      headers: { ...headers, ...(tls.headers as Record<string, string>), host: upstream.host },
    };
    const call = httpsRequest(options, (answer) => {
      if (drop) {
        answer.resume().on('end', () => response.destroy());
        return;
      }
      response.writeHead(answer.statusCode!, answer.headers);
      // A watch must be seen to begin before its first event.
      response.flushHeaders();
      if (watchLag > 0 && path?.includes('watch=true')) {
        answer.on('data', (chunk: Buffer) => setTimeout(() => response.write(chunk), watchLag));
        answer.on('end', () => setTimeout(() => response.end(), watchLag));
      } else answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    call.on('error', () => response.destroy());
    response.on('close', () => call.destroy());
    incoming.pipe(call);
  };

  const meet = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = 'GET', url = '/' } = incoming;
    const what = await fate(method, url);
    calls.push(`${method} ${url.split('?')[0]} ${typeof what === 'string' ? what : what.status}`);
    if (what === 'pass' || what === 'drop-answer') forward(incoming, response, what === 'drop-answer');
    else if (what === 'drop-call') incoming.socket.destroy();
    else if (what !== 'hang') {
      const status = {
        kind: 'Status',
        status: 'Failure',
        reason: 'Chaos',
        message: what.message ?? `the test answers ${what.status}`,
        code: what.status,
      };
      if (what.retryAfter !== undefined) response.setHeader('retry-after', what.retryAfter);
      response.writeHead(what.status, { 'content-type': 'application/json' }).end(JSON.stringify(status));
    }
  };
  const server = createServer((incoming, response) => void meet(incoming, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const folder = mkdtempSync(join(tmpdir(), 'drover-chaos-'));
  const close = (): void => {
    server.closeAllConnections();
    server.close();
    agent.destroy();
    rmSync(folder, { recursive: true });
  };

  const cluster = {
    name: 'chaos',
    server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    'insecure-skip-tls-verify': true,
  };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'chaos',
    clusters: [{ name: 'chaos', cluster }],
    users: [{ name: 'chaos', user: {} }],
    contexts: [{ name: 'chaos', context: { cluster: 'chaos', user: 'chaos' } }],
  };
  const file = join(folder, 'kubeconfig');
  writeFileSync(file, JSON.stringify(config));
  return { kubeconfig: file, calls, cut: () => server.closeAllConnections(), close };
}
