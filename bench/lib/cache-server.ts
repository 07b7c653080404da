import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { POOL_LABEL } from '../../api/labels-and-annotations.ts';
import type { KubeObject, Stored } from '../../api/objects.ts';
import {
  Nodes,
  pathOf,
  VirtualMachineDisruptionBudgets,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachines,
  type Resource,
} from '../../api/resources.ts';
import { revisionOf } from '../../decisions/template/revision.ts';
import { poolTemplate } from '../../decisions/template/template.ts';
import { vmFromTemplate } from '../../decisions/template/vm-from-template.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import { runningVmi, runningVmStatus, template } from './running-vm.ts';

/**
 * Answers lists and watches as an API server with many running VMs would, without keeping them: each object is made
 * when it is asked for, with 50 pools to a namespace.
 */

const POOLS_A_NAMESPACE = 50;
const NODES = 200;
const MADE = '2026-11-21T04:13:00Z';
const VERSION = 1_000_000;

export interface Fleet {
  vms: number;
  pools: number;
  /** Each selects the VMs of one pool. */
  budgets: number;
}

interface CacheServer {
  url: string;
  /** Once VMIs are watched: turns the readiness of this many, one after the other. Resolves to the last version. */
  change: (count: number) => Promise<string>;
  close: () => void;
}

export async function startCacheServer(fleet: Fleet): Promise<CacheServer> {
  const kinds = kindsOf(fleet);
  const watched = Promise.withResolvers<ServerResponse>();
  let version = VERSION;
  let isReady = true;
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const url = new URL(request.url!, 'http://127.0.0.1');
    response.setHeader('Content-Type', 'application/json');
    if (url.searchParams.get('watch') === 'true') {
      response.flushHeaders();
      if (url.pathname === pathOf(VirtualMachineInstances)) watched.resolve(response);
      return;
    }
    response.end(JSON.stringify(pageOf(kinds.get(url.pathname), url.searchParams, version)));
  };
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    change: async (count) => {
      const watch = await watched.promise;
      const { of } = kinds.get(pathOf(VirtualMachineInstances))!;
      isReady = !isReady;
      for (let n = 0; n < count; n++) {
        const vmi = of(n % fleet.vms);
        const object = { ...vmi, metadata: { ...vmi.metadata, resourceVersion: String(++version) } };
        watch.write(`${JSON.stringify({ type: 'MODIFIED', object: isReady ? object : notReady(object) })}\n`);
      }
      return String(version);
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

interface Kind {
  count: number;
  of: (index: number) => Stored;
}

const nodeOf = (index: number): Stored =>
  stored({ metadata: { name: `node-${index}.example.com` }, status: { conditions: [ready('True')] } }, `n-${index}`);

function kindsOf({ vms, pools, budgets }: Fleet): Map<string, Kind> {
  const poolOf = (index: number): StoredPool & Stored => aPool(index, vms / pools);
  const vmOf = (index: number): Stored => aVm(poolOf(index % pools), Math.floor(index / pools) + 1);
  const vmiOf = (index: number): Stored => stored(runningVmi(vmOf(index)), `i-${index}`);
  const all: [Resource, Kind][] = [
    [VirtualMachinePools, { count: pools, of: poolOf }],
    [VirtualMachineDisruptionBudgets, { count: budgets, of: (index) => aBudget(poolOf(index % pools), index) }],
    [VirtualMachines, { count: vms, of: vmOf }],
    [VirtualMachineInstances, { count: vms, of: vmiOf }],
    [Nodes, { count: NODES, of: nodeOf }],
  ];
  return new Map(all.map(([resource, kind]) => [pathOf(resource), kind]));
}

function pageOf(kind: Kind | undefined, query: URLSearchParams, version: number): object {
  const from = Number(query.get('continue') ?? 0);
  const to = Math.min(from + Number(query.get('limit') ?? Infinity), kind?.count ?? 0);
  const items = Array.from({ length: Math.max(to - from, 0) }, (_, index) => kind!.of(from + index));
  const rest = to < (kind?.count ?? 0) ? { continue: String(to) } : {};
  return { metadata: { resourceVersion: String(version), ...rest }, items };
}

const ready = (status: string): object => ({ type: 'Ready', status, lastTransitionTime: MADE });

/** All was made in the same moment, before the list. */
const stored = <T extends KubeObject>(object: T, uid: string): Stored<T> => ({
  ...object,
  metadata: {
    ...object.metadata,
    uid,
    generation: 1,
    creationTimestamp: MADE,
    resourceVersion: String(VERSION - 1),
  },
});

/** A pool whose VMs all run, and that knows so. */
function aPool(index: number, replicas: number): StoredPool & Stored {
  const spec = { replicas, template: template('0') };
  const counts = { replicas, desiredReplicas: replicas, readyReplicas: replicas, updatedReplicas: replicas };
  const revision = revisionOf(poolTemplate(spec));
  const status = { ...counts, observedGeneration: 1, currentRevision: revision, updateRevision: revision };
  const namespace = `team-${Math.floor(index / POOLS_A_NAMESPACE)}`;
  return { ...stored({ metadata: { name: `pool-${index}`, namespace } }, `p-${index}`), spec, status };
}

/** A budget over the VMs of the pool. */
function aBudget({ metadata: { namespace, name } }: StoredPool, index: number): Stored {
  const spec = { selector: { matchLabels: { [POOL_LABEL]: name } }, maxUnavailable: '10%' };
  return { ...stored({ metadata: { name: `budget-${index}`, namespace } }, `b-${index}`), spec };
}

function aVm(pool: StoredPool, number: number): Stored {
  const made = vmFromTemplate(pool, poolTemplate(pool.spec), number);
  return { ...stored(made, `v-${made.metadata.namespace}-${made.metadata.name}`), status: runningVmStatus() };
}

/** The VMI as KubeVirt reports it while its guest does not answer. */
const notReady = (vmi: Stored): Stored => ({
  ...vmi,
  status: { ...(vmi['status'] as object), conditions: [ready('False')] },
});
