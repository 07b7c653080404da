import { expect, test } from 'vitest';
import {
  VirtualMachineDisruptionBudgets,
  VirtualMachineInstances,
  VirtualMachinePools,
  VirtualMachines,
  type Resource,
} from '../../api/resources.ts';
import { vmOwner } from '../../simulator/objects/vm-owner.ts';
import { writeIn, type SeenWrite } from './etcd-journal.ts';
import { Requests, type Note } from './requests.ts';
import { NAMESPACE, SeenWorld } from './seen-world.ts';

const MINUTE_MS = 60_000;
const activity = { type: 'updateVms', workflowId: 'batch', runId: 'r', workflowType: 'updateBatch', attempt: 'r/1/1' };

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Writes to etcd, one second after another, and what a worker tells of them. */
class Told {
  readonly world = new SeenWorld();
  readonly requests = new Requests('/dev/null');
  readonly #objects = new Map<string, object>();
  #revision = 0;
  #now = Date.UTC(2026, 0, 1);

  later(ms: number): void {
    this.#now += ms;
  }

  /** A worker says this, or only asks. */
  asks(method: string, { group, plural }: Resource, name: string, end?: Partial<Note>): void {
    const note = { id: String(this.#revision), who: 'worker', at: this.#now } as const;
    const path = `/apis/${group}/v1/namespaces/${NAMESPACE}/${plural}/${name}`;
    this.requests.take({ ...note, asked: { method, path, activity } });
    if (end !== undefined) this.requests.take({ ...note, end: 'answered', ...end });
  }

  get next(): string {
    return String(this.#revision + 1);
  }

  writes(resource: Resource, object: object & { metadata: { name: string } }): void {
    const key = `/registry/${resource.group}/${resource.plural}/${NAMESPACE}/${object.metadata.name}`;
    const before = this.#objects.get(key);
    const metadata = { namespace: NAMESPACE, creationTimestamp: new Date(this.#now).toISOString(), ...object.metadata };
    const after = { ...object, metadata };
    this.#objects.set(key, after);
    const value = (of: object, revision: number) => ({
      key: base64(key),
      value: base64(JSON.stringify(of)),
      mod_revision: String(revision),
    });
    const old = before === undefined ? {} : { prev_kv: value(before, this.#revision) };
    const write: SeenWrite = writeIn({ kv: value(after, ++this.#revision), ...old }, this.#now)!;
    this.world.see(write, this.requests.authorOf(write));
    this.#now += 1_000;
  }
}

const pool = {
  metadata: { name: 'web', uid: 'web' },
  spec: { replicas: 3, maxUnavailable: 1, template: { spec: { runStrategy: 'Always', template: { spec: {} } } } },
};
const owner = {
  apiVersion: 'drover.dev/v1alpha1',
  kind: 'VirtualMachinePool',
  name: 'web',
  uid: 'web',
  controller: true,
};
const vm = (name: string) => ({
  metadata: { name, uid: name, ownerReferences: [owner] },
  spec: { runStrategy: 'Always', template: { spec: { domain: { devices: {} } } } },
});
const vmi = (name: string, more: object = {}) => ({
  metadata: { name, uid: `${name}-vmi`, ownerReferences: [vmOwner(vm(name).metadata)], ...more },
  spec: {},
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
});
const going = { deletionTimestamp: '2026-01-01T00:00:00Z' };

function aPool(): Told {
  const told = new Told();
  const batch = { vms: ['web-1', 'web-2'].map((name) => ({ name })), revision: 'new' };
  told.world.runs.set('batch', {
    id: 'batch',
    type: 'updateBatch',
    args: [{ batch }],
    isOpen: true,
    status: 'RUNNING',
  });
  told.writes(VirtualMachinePools, pool);
  for (const name of ['web-1', 'web-2', 'web-3']) told.writes(VirtualMachines, vm(name));
  for (const name of ['web-1', 'web-2', 'web-3']) told.writes(VirtualMachineInstances, vmi(name));
  told.later(MINUTE_MS);
  return told;
}

/** A worker deletes the VMIs of these VMs. */
function takeDown(told: Told, names: string[]): void {
  for (const name of names) {
    told.asks('DELETE', VirtualMachineInstances, name, { version: told.next });
    told.writes(VirtualMachineInstances, vmi(name, going));
  }
}

const found = (told: Told): string[] => told.world.findings.map(({ words }) => words);

test('a second VM that workers take down beyond the budget is found, with what came before', () => {
  const told = aPool();
  takeDown(told, ['web-1', 'web-2']);
  expect(found(told)).toEqual(['G9: web-2 is taken down, and with it web-1, web-2 are down (2), of at most 1']);
  expect(told.world.findings.at(-1)!.before.join('\n')).toContain('updateVms deletes virtualmachineinstances/web-1');
});

test('VMs that others take down are not workers’ doing, nor what a worker was refused', () => {
  const told = aPool();
  for (const name of ['web-1', 'web-2', 'web-3']) {
    told.asks('DELETE', VirtualMachineInstances, name, { end: 'refused' });
    told.writes(VirtualMachineInstances, vmi(name, going));
  }
  expect(told.world.findings).toEqual([]);
});

test('a VM that a worker has deleted and got no answer, since it was killed, is that worker’s doing', () => {
  const told = aPool();
  for (const name of ['web-1', 'web-2']) {
    told.asks('DELETE', VirtualMachineInstances, name);
    told.writes(VirtualMachineInstances, vmi(name, going));
  }
  expect(found(told)).toEqual([expect.stringMatching(/web-2 is taken down.*the answer was lost/)]);
});

test('a VM that a worker makes beyond the replicas is found', () => {
  const told = aPool();
  told.asks('POST', VirtualMachines, 'web-4', { version: told.next });
  told.writes(VirtualMachines, vm('web-4'));
  expect(found(told)).toEqual([expect.stringMatching(/^G3: web-4 is made/)]);
});

test('a VM that workers take down beyond a budget over any VMs is found', () => {
  const told = aPool();
  const budget = { metadata: { name: 'all', uid: 'all' }, spec: { selector: {}, maxUnavailable: 1 } };
  told.writes(VirtualMachineDisruptionBudgets, budget);
  told.later(MINUTE_MS);
  takeDown(told, ['web-1', 'web-2']);
  expect(found(told)).toContainEqual(expect.stringMatching(/^P1: web-2 is taken down, 1 more than all allows/));
});
