import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { DO_NOT_DISRUPT_ANNOTATION, REVISION_LABEL } from '../../../api/labels-and-annotations.ts';
import type { Stored } from '../../../api/objects.ts';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../../api/resources.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { ignoreNotFound } from '../../../kubernetes/errors.ts';
import type { VirtualMachine, VirtualMachineInstance } from '../../../simulator/objects/kubevirt.ts';
import { seeded, seedOf } from '../../seeded.ts';
import { soak } from '../../soak.ts';
import { chaosProxy, type Fate } from '../chaos-proxy.ts';
import { aFleet, until, type TestWorker } from '../fleet.ts';
import { ReadinessWatch } from '../readiness-watch.ts';

const fleet = aFleet({ workers: 0 });
const VMS = soak(30, 15);
const MAX_DOWN = soak(6, 3);
const MEDDLING_MS = soak(45_000, 12_000);
/** drover learns of disruptions by users, and of newly created VMs, with a delay. */
const HINDSIGHT_MS = 3_000;

const templateOf = (cores: number): PoolSpec['template'] => ({
  spec: {
    runStrategy: 'Always',
    template: {
      metadata: { annotations: { 'sim.drover.dev/boot-time': '700ms', 'sim.drover.dev/stop-time': '150ms' } },
      spec: { domain: { devices: {}, cpu: { cores }, memory: { guest: '64Mi' } } },
    },
  },
});

const isUp = ({ spec }: VirtualMachine): boolean => spec.runStrategy !== 'Halted';

test(
  'a rollout amid users, crashes, faults and newer templates keeps its budget, restarts no VMI twice for one revision, and ends',
  { timeout: 600_000 },
  async () => {
    const random = seeded(seedOf());
    const one = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)]!;
    const namespace = await fleet().namespace();
    const watch = await ReadinessWatch.start(fleet().kube, namespace);
    onTestFinished(() => watch.stop());

    let faulty = false;
    const faults: Fate[] = [
      'drop-answer',
      'drop-call',
      { status: 500 },
      { status: 503 },
      { status: 429, retryAfter: 1 },
    ];
    const proxy = await chaosProxy(fleet().workerKubeconfig, (): Fate =>
      faulty && random() < 0.03 ? one(faults) : 'pass',
    );
    const start = (): Promise<TestWorker> => fleet().startWorker({ KUBECONFIG: proxy.kubeconfig });
    const workers = [await start(), await start()];
    await fleet().createPool(namespace, 'web', {
      replicas: VMS,
      maxUnavailable: MAX_DOWN,
      template: templateOf(1),
      scaleInStrategy: { proactive: { selectionPolicy: { basePolicy: 'Newest' } } },
    });
    await until(
      async () => expect((await fleet().pool(namespace, 'web'))?.status).toMatchObject({ readyReplicas: VMS }),
      120_000,
    );
    await watch.startRecording();

    /** What users did, to which VM, and when. */
    const acts: { vm: string; at: number }[] = [];
    const halted = new Set<string>();
    const optedOut = new Set<string>();
    const labelled = new Set<string>();
    const patch = (name: string, change: object) =>
      ignoreNotFound(fleet().kube.patch(VirtualMachines, { namespace, name }, 'merge', change));
    const optOut = (name: string, on: boolean) =>
      patch(name, { metadata: { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: on ? 'true' : null } } });
    const meddlings: ((name: string) => Promise<unknown>)[] = [
      (name) => ignoreNotFound(fleet().kube.delete(VirtualMachineInstances, { namespace, name })),
      (name) =>
        ignoreNotFound(
          fleet().kube.patch(VirtualMachineInstances, { namespace, name }, 'merge', {
            metadata: { annotations: { 'sim.drover.dev/run-time': '0s', 'sim.drover.dev/run-end': 'Failed' } },
          }),
        ),
      async (name) => {
        const on = halted.delete(name);
        if (!on) halted.add(name);
        await patch(name, { spec: { runStrategy: on ? 'Always' : 'Halted' } });
      },
      async (name) => {
        const on = !optedOut.delete(name);
        if (on) optedOut.add(name);
        await optOut(name, on);
      },
      async (name) => {
        labelled.add(name);
        await patch(name, {
          metadata: { labels: { mine: 'yes' } },
          spec: { template: { metadata: { labels: { mine: 'yes' } } } },
        });
      },
    ];

    faulty = true;
    let cores = 2;
    await fleet().patchPool(namespace, 'web', { template: templateOf(cores) });
    const end = Date.now() + MEDDLING_MS;
    for (let turn = 1; Date.now() < end; turn++) {
      await sleep(random() * 600);
      const vm = `web-${1 + Math.floor(random() * VMS)}`;
      acts.push({ vm, at: Date.now() });
      await one(meddlings)(vm);
      if (turn % 25 === 0) await fleet().patchPool(namespace, 'web', { template: templateOf(++cores) });
      if (turn % 15 === 7) await fleet().patchPool(namespace, 'web', { replicas: VMS - 2 + Math.floor(random() * 5) });
      if (turn % 20 === 11) {
        await workers.shift()!.kill();
        workers.push(await start());
      }
    }
    await fleet().patchPool(namespace, 'web', { replicas: VMS });
    for (const name of optedOut) await optOut(name, false);
    faulty = false;

    const revision = revisionOf(templateOf(cores));
    let vms: Stored<VirtualMachine>[] = [];
    let vmis = new Map<string, Stored<VirtualMachineInstance>>();
    await until(async () => {
      const { status } = (await fleet().pool(namespace, 'web'))!;
      // The conditions say why a rollout that does not end is where it is.
      const complete = { type: 'Progressing', reason: 'Complete' };
      expect(status?.conditions).toContainEqual(expect.objectContaining(complete));
      expect(status).toMatchObject({
        replicas: VMS,
        updatedReplicas: VMS,
        currentRevision: revision,
        updateRevision: revision,
      });
      vms = (await fleet().kube.list<VirtualMachine>(VirtualMachines, { namespace })).items;
      vmis = new Map(
        (await fleet().kube.list<VirtualMachineInstance>(VirtualMachineInstances, { namespace })).items.map((vmi) => [
          vmi.metadata.name,
          vmi,
        ]),
      );
      expect(vms).toHaveLength(VMS);
      // The rollout doesn't wait for VMIs that the last acts ended or halted: they may still start or stop.
      expect(
        vms.filter((vm) => (vm.status?.ready ?? false) !== isUp(vm) || vmis.has(vm.metadata.name) !== isUp(vm)),
      ).toEqual([]);
    }, 400_000);
    await watch.caughtUp();

    for (const vm of vms) {
      const { metadata, spec } = vm;
      const { name, labels } = metadata;
      const vmi = vmis.get(name);
      expect({ name, revision: labels?.[REVISION_LABEL], cores: spec.template.spec.domain.cpu?.cores }).toEqual({
        name,
        revision,
        cores,
      });
      // A VM that was deleted and created again meanwhile is a new VM.
      const isAsLeft = Date.parse(metadata.creationTimestamp) < end - MEDDLING_MS;
      if (isAsLeft)
        expect({ name, strategy: spec.runStrategy }).toEqual({
          name,
          strategy: halted.has(name) ? 'Halted' : 'Always',
        });
      if (isAsLeft && labelled.has(name)) expect({ name, mine: labels?.['mine'] }).toEqual({ name, mine: 'yes' });
      expect({ name, revision: vmi?.metadata.labels?.[REVISION_LABEL] }).toEqual({
        name,
        revision: isUp(vm) ? revision : undefined,
      });
    }

    // A VMI that users didn't terminate was terminated by drover.
    const isTheirs = (name: string, at: number) =>
      acts.some((act) => act.vm === name && act.at > at - HINDSIGHT_MS && act.at <= at);
    const byDrover = watch.log.departures().filter(({ name, at }) => !isTheirs(name, at));
    const isByDrover = (vm: string, since: number) => byDrover.some(({ name, at }) => name === vm && at === since);
    const counts = ({ name, since }: { name: string; since: number }, at: number) =>
      isByDrover(name, since) || (since <= at - HINDSIGHT_MS && !isTheirs(name, at));
    expect(byDrover.filter(({ down, at }) => down.filter((one) => counts(one, at)).length > MAX_DOWN)).toEqual([]);
    expect(byDrover.filter((departure) => departure.revision === revision)).toEqual([]);
    console.log(
      `${acts.length} acts of people, ${byDrover.length} VMIs restarted by drover, up to revision ${cores}, at most ${watch.log.mostUnavailable()} down`,
    );
    expect(watch.gaps).toEqual([]);
  },
);
