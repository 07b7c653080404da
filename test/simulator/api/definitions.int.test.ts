import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject, Stored } from '../../../api/objects.ts';
import {
  apiVersionOf,
  KubeVirts,
  pathOf,
  VirtualMachineInstances,
  VirtualMachines,
  type Resource,
  VirtualMachineInstanceMigrations,
} from '../../../api/resources.ts';
import type {
  KubeVirt,
  Migration,
  VirtualMachine,
  VirtualMachineInstance,
} from '../../../simulator/objects/kubevirt.ts';
import { vmStatus } from '../../../simulator/vm/status.ts';
import { vmiOf } from '../../../simulator/vmi/from-template.ts';
import { ended, handedOff, inPhase, started } from '../../../simulator/vmi/migration.ts';
import { nextMove } from '../../../simulator/vmi/next-move.ts';
import { KUBEVIRT_CRDS } from '../../stacks/stack-pool.ts';
import { eventually, SimulatedCluster } from '../simulated-cluster.ts';
import { around, condition } from '../simulated.ts';

/** With strict validation, the API server refuses a field that it would otherwise prune silently. */
describe.skipIf(KUBEVIRT_CRDS === undefined)(
  "the writes of the simulator conform to KubeVirt's own definitions",
  () => {
    let cluster: SimulatedCluster;
    let vm: Stored<VirtualMachine>;
    let vmi: Stored<VirtualMachineInstance>;
    beforeAll(async () => {
      cluster = await SimulatedCluster.lease({ kubevirtCrds: true });
      ({ vm, vmi } = await cluster.running('strict'));
    });
    afterAll(() => cluster?.end());

    const strictly = (
      resource: Resource,
      method: 'POST' | 'PUT',
      object: KubeObject,
      subresource?: string,
    ): Promise<KubeObject> => {
      const { namespace, name } = object.metadata;
      const path = pathOf(resource, namespace, method === 'POST' ? undefined : name, subresource);
      const body = { ...object, apiVersion: apiVersionOf(resource), kind: resource.kind };
      return cluster.kube.request({
        method,
        path: `${path}?fieldValidation=Strict&dryRun=All&fieldManager=kubevirt-simulator`,
        body,
      });
    };

    test('of which the check itself sees an unknown field', async () => {
      const unknown = { ...vm, status: { ...vm.status, unheardOf: 1 } };
      await expect(strictly(VirtualMachines, 'PUT', unknown, 'status')).rejects.toThrow(
        /unknown field "status.unheardOf"/,
      );
    });

    test('of a VMI, in all its phases', async () => {
      const now = Date.now();
      const pending = vmiOf(vm, undefined, now) as Stored<VirtualMachineInstance>;
      const move = (from: Stored<VirtualMachineInstance>, some: object = {}) =>
        nextMove(from, around({ now, since: 0, ...some })).vmi;
      const scheduled = move(pending);
      const running = move(scheduled);
      const grown = move({
        ...running,
        spec: { ...running.spec, domain: { ...running.spec.domain, cpu: { sockets: 2 } } },
      });
      const migration = { metadata: { ...vm.metadata, uid: 'm' }, spec: { vmiName: 'strict' } };
      const moving = started(handedOff(running, migration, 'sim-node-2'), now);
      const ways = [
        pending,
        move(pending, { missingClaim: 'disk' }),
        move(pending, { node: undefined }),
        scheduled,
        move(scheduled, { failing: true }),
        running,
        grown,
        move({ ...running, status: { ...running.status, conditions: [condition('Paused', 'True', 'PausedByUser')] } }),
        move(running, { nodeLost: true }),
        move(running, { nodeGone: true }),
        move(running, { migratable: false }),
        moving,
        ended(moving, false, now),
      ];
      for (const way of ways)
        await strictly(VirtualMachineInstances, 'PUT', { ...way, metadata: { ...vmi.metadata, ...way.metadata } });
    });

    test("of a VM's status, with everything in it", async () => {
      const stateChangeRequests = [{ action: 'Start' as const, data: { paused: 'true' } }];
      const failed = { ...vmi, status: { phase: 'Failed' as const } };
      const status = vmStatus({
        vm: { ...vm, status: { ...vm.status, stateChangeRequests } },
        vmi: failed,
        dataVolumePhases: [],
        unboundClaim: false,
        restartRequired: { message: 'why' },
        failure: { reason: 'FailedCreate', message: 'why not' },
        now: Date.now(),
        random: 0,
        backoffFactor: 1,
      });
      expect(status).toMatchObject({ stateChangeRequests, startFailure: { consecutiveFailCount: 1 } });
      await strictly(VirtualMachines, 'PUT', { ...vm, status }, 'status');
    });

    test('of the KubeVirt object, and of migrations', async () => {
      const kubevirt = await cluster.kube.get<KubeVirt>(KubeVirts, { namespace: 'kubevirt', name: 'kubevirt' });
      expect(kubevirt.status).toMatchObject({ phase: 'Deployed', observedKubeVirtVersion: expect.any(String) });
      await strictly(KubeVirts, 'PUT', kubevirt, 'status');
      const spec = { vmiName: 'strict', addedNodeSelector: { a: 'b' } };
      const key = { name: 'nowhere', namespace: 'default' };
      await cluster.kube.create<Migration>(VirtualMachineInstanceMigrations, { metadata: key, spec });
      await eventually(async () => {
        const migration = await cluster.kube.get<Migration>(VirtualMachineInstanceMigrations, key);
        expect(migration.status?.phase).toBe('Scheduling');
        await strictly(VirtualMachineInstanceMigrations, 'PUT', inPhase(migration, 'Running', 0), 'status');
      });
    });
  },
);
