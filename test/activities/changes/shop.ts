import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import type { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import { VmChanger, type Change } from '../../../activities/changes/vm-changer.ts';
import type { Claim } from '../../../activities/disruption-budget/claim.ts';
import type { Stored } from '../../../api/objects.ts';
import { ControllerRevisions, VirtualMachines, type Resource } from '../../../api/resources.ts';
import { changesOf } from '../../../decisions/changes/change-record.ts';
import { vmView, type VirtualMachine } from '../../../decisions/from-object/vm.ts';
import type { Json } from '../../../decisions/lib/json.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { PLUGS_ALL } from '../../../decisions/vm-update/disruption.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { aVmi } from '../../decisions/fixtures/fleets.ts';
import { ApiServer, mergePatch } from '../../model/world/api-server.ts';

const PATCH = { metadata: { labels: { tier: 'gold' } }, spec: { template: { spec: { hostname: 'db' } } } };
export const CHANGE: Change = {
  wanted: { patch: PATCH },
  restarts: false,
  record: { id: 'uid-of-op', operation: 'patch-1', by: 'ada' },
};

const NO_BUDGETS: Claim = { lastCheck: () => {}, recheck: () => {}, covers: () => true };

/** An API server with VMs, and what a policy makes of each write of one. */
export class Shop {
  readonly server = new ApiServer(() => 0);
  /** Each write that was asked for. */
  readonly asked: { name: string; isDryRun: boolean }[] = [];
  /** How many reads of single objects were asked for. */
  reads = 0;
  policy: (vm: Stored) => Stored = (vm) => vm;
  /** What the VMIs have. */
  vmi: Partial<VmiView> = {};
  /** How many changes were written under claims. */
  claims = 0;

  vm(name: string, spec: Json = {}, metadata: object = {}): Stored<VirtualMachine> {
    return this.server.create(VirtualMachines, {
      metadata: { namespace: 'shop', name, ...metadata },
      spec: { runStrategy: 'Always', template: { spec: { domain: {}, ...spec } } },
    });
  }

  get client(): KubeClient {
    const patch = async (
      _kind: unknown,
      at: { namespace: string; name: string },
      _type: string,
      body: { metadata: { resourceVersion: string } },
      { dryRun = false }: { dryRun?: boolean },
    ) => {
      this.asked.push({ name: at.name, isDryRun: dryRun });
      const before = this.server.get(VirtualMachines, at);
      if (body.metadata.resourceVersion !== before.metadata.resourceVersion)
        throw new KubeError(409, 'Conflict', 'it has changed');
      const after = this.policy(mergePatch(before, body) as Stored);
      return Promise.resolve(dryRun ? after : this.server.write(VirtualMachines, at, () => after));
    };
    const pages = async function* (this: Shop) {
      yield await Promise.resolve({ metadata: { resourceVersion: '1' }, items: this.server.all(VirtualMachines) });
    }.bind(this);
    const get = (kind: Resource, at: { namespace: string; name: string }) => {
      this.reads++;
      return Promise.resolve().then(() => this.server.get(kind, at));
    };
    return { patch, pages, get } as unknown as KubeClient;
  }

  readonly cache = {
    vms: { values: () => this.server.all<Stored<VirtualMachine>>(VirtualMachines).map(vmView) },
    vmView,
    vmiOf: aVmi,
    rolloutStrategy: () => 'LiveUpdate',
    kubevirtPlugs: () => PLUGS_ALL,
  } as unknown as ClusterCache;

  changer(change: Partial<Change> = {}): (vm: Stored<VirtualMachine>) => Promise<unknown> {
    const changer = new VmChanger(this.client, this.cache, { ...CHANGE, ...change });
    return (stored) => {
      const vm = vmView(stored);
      return inActivity(() =>
        changer.change({ stored, vm, vmi: aVmi(vm, { startGeneration: 1, ...this.vmi }) }, (write) => {
          this.claims++;
          return write(NO_BUDGETS);
        }),
      );
    };
  }

  /** KubeVirt keeps what the VMI of this VM was started from, and says that the VM waits for a restart. */
  waitsForRestart(name: string, { metadata: { uid }, spec }: Stored<VirtualMachine>): Stored<VirtualMachine> {
    const metadata = { namespace: 'shop', name: `revision-start-vm-${uid}-1` };
    this.server.create(ControllerRevisions, { metadata, revision: 1, data: { spec } });
    const conditions = [{ type: 'RestartRequired', status: 'True' }];
    const at = { namespace: 'shop', name };
    return this.server.write(VirtualMachines, at, (vm) => ({ ...vm, status: { conditions } }), 'status');
  }

  read(name: string): Stored<VirtualMachine> {
    return this.server.get(VirtualMachines, { namespace: 'shop', name });
  }

  notes(name: string) {
    return changesOf(this.read(name).metadata.annotations);
  }
}

/** Runs it as an activity does. */
export const inActivity = <T>(act: () => Promise<T>): Promise<T> =>
  new MockActivityEnvironment({}, { logger: new DefaultLogger('ERROR') }).run(act);
