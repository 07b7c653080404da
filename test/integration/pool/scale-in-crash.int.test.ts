import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { REMOVE_VMS_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import { VirtualMachines } from '../../../api/resources.ts';
import { removeVms } from '../../../clients/scaling/remove-vms.ts';
import { protect } from '../../clients/scaling/protect.ts';
import { crashTest } from '../../soak.ts';
import { chaosProxy, type Fate } from '../chaos-proxy.ts';
import { aFleet, namesUpTo, until } from '../fleet.ts';

const fleet = aFleet({ workers: 0 });

crashTest('removals by name')(
  'the named VMs leave and no others if a worker dies in the middle of the removal, whatever users do meanwhile',
  async () => {
    const namespace = await fleet().namespace();
    const key = { namespace, name: 'web' };
    const unruly = await chaosProxy(fleet().workerKubeconfig, async (method): Promise<Fate> => {
      if (method === 'DELETE') await sleep(300);
      return method === 'DELETE' ? 'drop-answer' : 'pass';
    });
    const worker = await fleet().startWorker({ KUBECONFIG: unruly.kubeconfig, DROVER_CONCURRENCY: '1' });
    await fleet().createPool(namespace, 'web', { replicas: 12 });
    await fleet().settled(namespace, 'web', namesUpTo('web', 12));
    const uids = async (): Promise<Map<string, string>> =>
      new Map((await fleet().vms(namespace)).map(({ metadata }) => [metadata.name, metadata.uid]));
    const before = await uids();
    const remove = ['web-3', 'web-4', 'web-5', 'web-6', 'web-7', 'web-8'];
    const { kube } = fleet();
    expect(await removeVms(kube, key, { remove, dryRun: 'none' })).toBe(6);
    await until(async () => expect((await uids()).size).toBeLessThan(12));
    await worker.kill();

    const there = await uids();
    const [detached, guarded] = remove.filter((name) => there.has(name)).toReversed();
    await kube.patch(VirtualMachines, { namespace, name: detached! }, 'merge', { metadata: { ownerReferences: null } });
    await protect(kube, namespace, guarded!);
    await fleet().patchPool(namespace, 'web', { replicas: 8 });

    const next = await fleet().startWorker();
    const stay = ['web-1', 'web-2', 'web-9', 'web-10', 'web-11', 'web-12'];
    await fleet().settled(namespace, 'web', ['web-1', 'web-2', 'web-3', 'web-4', ...stay.slice(2)]);
    await until(async () =>
      expect((await fleet().pool(namespace, 'web'))!.metadata.annotations ?? {}).not.toHaveProperty([
        REMOVE_VMS_ANNOTATION,
      ]),
    );
    const after = await uids();
    for (const name of [...stay, detached!]) expect(after.get(name)).toBe(before.get(name));
    for (const name of remove.filter((one) => one !== detached)) expect(after.get(name)).not.toBe(before.get(name));
    await next.stop();
  },
);
