import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Stack } from '../../../dev/embedded-stack.ts';

/** Those that must not run while etcd is put back, in the order in which they stop. */
const SERVERS = ['simulator', 'kube-apiserver', 'etcd'] as const;

/** Copies what etcd holds at this moment. Returns what puts it back, as from a backup: versions go back, too. */
export function backUpEtcd(stack: Stack): () => Promise<void> {
  const data = join(stack.state, 'data', 'etcd');
  const backup = join(mkdtempSync(join(stack.state, 'backup-')), 'etcd');
  stack.kill('etcd', 'SIGSTOP');
  try {
    cpSync(data, backup, { recursive: true });
  } finally {
    stack.kill('etcd', 'SIGCONT');
  }
  return async () => {
    const running = new Set(stack.processes.map(({ name }) => name));
    const servers = SERVERS.filter((server) => running.has(server));
    for (const server of servers) await stack.halt(server);
    rmSync(data, { recursive: true });
    cpSync(backup, data, { recursive: true });
    for (const server of servers.toReversed()) await stack.restart(server);
  };
}
