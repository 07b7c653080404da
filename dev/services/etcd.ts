import type { ServiceSpec } from '../process/service.ts';
import { firstStart } from './first-start.ts';

/**
 * etcd listens on a socket in its data folder, not on a port. Other kube-apiservers can't find it, ours can't find
 * another etcd, and only users who may enter the folder can read it. The path is relative, because a socket's full path
 * is limited to about a hundred characters; so kube-apiserver runs in the same folder. (etcd's syntax requires `:0`:
 * every URL has a port.)
 */
const SOCKET = 'etcd.sock:0';
const PEER_SOCKET = 'etcd-peer.sock:0';
const DATA = 'etcd';
export const etcdUrl = `unix://${SOCKET}`;

export function etcd(options: { binary: string; data: string; ephemeral: boolean }): ServiceSpec<'etcd'> {
  const { binary, data, ephemeral } = options;
  const args = [
    '--name=drover',
    `--data-dir=${DATA}`,
    `--listen-client-urls=${etcdUrl}`,
    `--advertise-client-urls=${etcdUrl}`,
    `--listen-peer-urls=unix://${PEER_SOCKET}`,
    `--initial-advertise-peer-urls=unix://${PEER_SOCKET}`,
    `--initial-cluster=drover=unix://${PEER_SOCKET}`,
    // An ephemeral stack's data needn't survive a power failure. It still survives a crash of etcd alone.
    ...(ephemeral ? ['--unsafe-no-fsync'] : []),
  ];
  return {
    name: 'etcd',
    launch: { command: binary, args, cwd: data, env: withoutEtcdSettings(process.env) },
    isReady: (log) => log.includes('ready to serve client requests'),
    readyWithin: 30,
    stopWithin: 10,
    stopSignal: ephemeral ? 'SIGKILL' : 'SIGTERM',
    ...(ephemeral ? {} : firstStart(data, DATA)),
  };
}

/** etcd also reads every flag from the environment. */
const withoutEtcdSettings = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('ETCD_')));
