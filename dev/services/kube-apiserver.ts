import { existsSync, readFileSync } from 'node:fs';
import { answers } from '../process/answers.ts';
import type { ServiceSpec } from '../process/service.ts';
import type { Credentials } from './credentials.ts';
import { etcdUrl } from './etcd.ts';

interface ApiServerOptions {
  binary: string;
  /** etcd's folder, to which the path of its socket is relative. */
  data: string;
  port: number;
  credentials: Credentials;
  ephemeral: boolean;
}

export function kubeApiserver({
  binary,
  data,
  port,
  credentials,
  ephemeral,
}: ApiServerOptions): ServiceSpec<'kube-apiserver'> {
  const args = [
    `--etcd-servers=${etcdUrl}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--cert-dir=${credentials.certificates}`,
    '--advertise-address=127.0.0.1',
    // Endpoints can't be loopback addresses, and nothing needs those of this server.
    '--endpoint-reconciler-type=none',
    '--authorization-mode=RBAC',
    `--token-auth-file=${credentials.tokenFile}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${credentials.serviceAccountPublicKey}`,
    `--service-account-signing-key-file=${credentials.serviceAccountKey}`,
    '--service-cluster-ip-range=10.0.0.0/24',
    '--profiling=false',
    // All requests are one user's: queues by user would only take CPU, a tenth of it at the start.
    '--enable-priority-and-fairness=false',
  ];
  const server = `https://127.0.0.1:${port}`;
  const headers = { authorization: `Bearer ${credentials.token}` };
  // kube-apiserver creates its certificate during the start.
  const get = (path: string): Promise<boolean> | boolean =>
    existsSync(credentials.servingCertificate) &&
    answers({ url: server + path, ca: readFileSync(credentials.servingCertificate, 'utf8'), headers });
  return {
    name: 'kube-apiserver',
    launch: { command: binary, args, cwd: data, env: process.env },
    // kube-apiserver reports ready shortly before it has created its first namespaces.
    isReady: async () => (await get('/readyz')) && get('/api/v1/namespaces/default'),
    readyWithin: 60,
    stopWithin: 10,
    stopSignal: ephemeral ? 'SIGKILL' : 'SIGTERM',
  };
}
