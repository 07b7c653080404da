import { fileURLToPath } from 'node:url';
import type { Launch, ServiceSpec } from '../process/service.ts';
import type { Credentials } from './credentials.ts';
import { environmentWithoutTemporal } from './environment.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const simulatorMain = fileURLToPath(new URL('../../simulator/main.ts', import.meta.url));
const workerMain = fileURLToPath(new URL('../../workers/main.ts', import.meta.url));

/** The KubeVirt simulator; it serves `subresources.kubevirt.io` with kube-apiserver's certificate. */
export function simulator(options: {
  port: number;
  credentials: Credentials;
  env: Record<string, string>;
  program: string | undefined;
}): ServiceSpec<'simulator'> {
  const { port, credentials, env, program: path = simulatorMain } = options;
  const args = [
    path,
    '--port',
    String(port),
    '--tls-cert',
    credentials.servingCertificate,
    '--tls-key',
    credentials.servingKey,
  ];
  return {
    name: 'simulator',
    launch: program(args, env),
    isReady: (log) => log.split('\n').includes('ready'),
    readyWithin: 60,
    stopWithin: 10,
    stopSignal: 'SIGTERM',
  };
}

/** The worker, as it runs in a cluster, connected to the stack by its environment. */
export function worker(options: { env: Record<string, string> }): ServiceSpec<'worker'> {
  return {
    name: 'worker',
    launch: program([workerMain], options.env),
    isReady: (log) => log.includes('worker ready'),
    readyWithin: 120,
    stopWithin: 20,
    stopSignal: 'SIGTERM',
  };
}

/** Runs the program with the current Node. */
const program = (args: string[], env: Record<string, string>): Launch => ({
  command: process.execPath,
  args,
  cwd: project,
  env: { ...environmentWithoutTemporal(process.env), ...env },
});
