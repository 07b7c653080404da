import { Client } from 'undici';
import type { Stored } from '../../api/objects.ts';
import {
  ClusterVirtualMachineDisruptionBudgets,
  DataVolumes,
  VirtualMachineDisruptionBudgets,
  VirtualMachineInstanceMigrations,
  VirtualMachineInstanceReplicaSets,
  VirtualMachineInstances,
  VirtualMachineOperations,
  VirtualMachinePools,
  VirtualMachineReplicaSets,
  VirtualMachines,
  type Resource,
} from '../../api/resources.ts';
import { linesOf } from '../../kubernetes/lib/lines.ts';
import type { Write } from '../model/world/api-server.ts';

/** A write as etcd has it. */
export interface SeenWrite extends Write {
  /** The resource version of what was written, or of the deletion. */
  revision: string;
  /** When etcd reported it, in milliseconds since the epoch. */
  at: number;
}

interface KeyValue {
  key: string;
  value?: string;
  mod_revision: string;
}
/** An event, as etcd's JSON gateway has it: keys and values in base64. */
interface EtcdEvent {
  type?: 'DELETE';
  kv: KeyValue;
  prev_kv?: KeyValue;
}

/** Custom resources: etcd has these in JSON. Built-in kinds are in another format, so claims of disks are not seen. */
const KINDS = new Map(
  [
    VirtualMachines,
    VirtualMachineInstances,
    VirtualMachineInstanceMigrations,
    VirtualMachinePools,
    VirtualMachineReplicaSets,
    VirtualMachineInstanceReplicaSets,
    VirtualMachineOperations,
    VirtualMachineDisruptionBudgets,
    ClusterVirtualMachineDisruptionBudgets,
    DataVolumes,
  ].map((resource) => [`/registry/${resource.group}/${resource.plural}`, resource]),
);
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const textIn = (encoded: string): string => Buffer.from(encoded, 'base64').toString();
/** From the group `cdi.kubevirt.io` up to, and without, the Leases. */
const RANGE = { key: base64('/registry/cdi.kubevirt.io/'), range_end: base64('/registry/l') };

/** Returns the write that an event reports; undefined for one of another kind. */
export function writeIn({ type, kv, prev_kv: before }: EtcdEvent, at: number): SeenWrite | undefined {
  const resource: Resource | undefined = KINDS.get(textIn(kv.key).split('/').slice(0, 4).join('/'));
  if (resource === undefined) return undefined;
  return {
    resource,
    before: before === undefined ? undefined : objectIn(before),
    after: type === 'DELETE' ? undefined : objectIn(kv),
    revision: kv.mod_revision,
    at,
  };
}

function objectIn({ value, mod_revision }: KeyValue): Stored {
  const object = JSON.parse(textIn(value!)) as Stored;
  return { ...object, metadata: { ...object.metadata, resourceVersion: mod_revision } };
}

/**
 * Passes on every write of these kinds, in its order, with what was there before, until the signal: from etcd itself,
 * which is not killed. A watch of the API server would end with it, and the list after that shows two writes as one.
 * What etcd can't show is what was asked and refused, what was read, and who wrote: `Requests` has that. Resolves when
 * the watch has begun; `over` rejects if etcd ends it. `socket`: of etcd.
 */
export async function followEtcd(
  socket: string,
  onWrite: (write: SeenWrite) => void,
  signal: AbortSignal,
): Promise<{ over: Promise<void> }> {
  const etcd = new Client('http://localhost', { socketPath: socket, bodyTimeout: 0 });
  const request = JSON.stringify({ create_request: { ...RANGE, prev_kv: true } });
  const { statusCode, body } = await etcd.request({ method: 'POST', path: '/v3/watch', body: request, signal });
  if (statusCode !== 200) throw new Error(`etcd refuses a watch (${statusCode}): ${await body.text()}`);
  const follow = async (): Promise<void> => {
    for await (const line of linesOf(body)) {
      const { result } = JSON.parse(line) as { result?: { canceled?: boolean; events?: EtcdEvent[] } };
      if (result === undefined || result.canceled === true) throw new Error(`etcd has ended the watch: ${line}`);
      const at = Date.now();
      for (const event of result.events ?? []) {
        const write = writeIn(event, at);
        if (write !== undefined) onWrite(write);
      }
    }
    throw new Error('the watch of etcd has ended');
  };
  const over = follow()
    .catch((error: unknown) => {
      if (!signal.aborted) throw error;
    })
    .finally(() => void etcd.destroy());
  return { over };
}
