import type { ServiceSpec } from '../process/service.ts';
import { firstStart } from './first-start.ts';

/**
 * etcd on a socket in its data folder rather than on a port: nobody else's kube-apiserver can find it, ours can't find
 * another's, and only who may enter the folder may read it. The path is relative, for a socket's whole path may have
 * but some hundred characters; so kube-apiserver runs in the same folder. (The `:0` is etcd's syntax: every URL has a
 * port.)
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
    // What an ephemeral stack holds need not survive a power cut; the death of etcd alone it survives all the same.
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

/** etcd takes every flag from the environment too. */
const withoutEtcdSettings = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('ETCD_')));
