import { expect, onTestFinished, test } from 'vitest';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { KubeVirts } from '../../../api/resources.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { sample } from '../../soak.ts';
import { aFleet, namesUpTo, runningTemplate, until } from '../fleet.ts';
import { ReadinessWatch } from '../readiness-watch.ts';

const fleet = aFleet();
const VMS = 4;

const withCores = (cores: number, runStrategy: string): PoolSpec['template'] => {
  const template = structuredClone(runningTemplate);
  template.spec.runStrategy = runStrategy;
  (template.spec.template as { spec: { domain: Record<string, unknown> } }).spec.domain['cpu'] = { cores };
  return template;
};
const lag = (text: string | null) =>
  fleet().kube.patch(KubeVirts, { namespace: 'kubevirt', name: 'kubevirt' }, 'merge', {
    metadata: { annotations: { 'sim.drover.dev/spec-observation-delay': text } },
  });

test.each(sample(['Always', 'RerunOnFailure']))(
  'a late look of KubeVirt at new specs restarts no VMI before, since it would come back with the old one (%s)',
  async (runStrategy) => {
    const namespace = await fleet().namespace();
    const watch = await ReadinessWatch.start(fleet().kube, namespace);
    onTestFinished(() => watch.stop());
    await fleet().createPool(namespace, 'web', {
      replicas: VMS,
      maxUnavailable: 2,
      template: withCores(1, runStrategy),
    });
    await until(async () =>
      expect((await fleet().pool(namespace, 'web'))?.status).toMatchObject({ readyReplicas: VMS }),
    );
    await lag('2s');
    onTestFinished(async () => void (await lag(null)));
    await watch.startRecording();
    const next = withCores(2, runStrategy);
    const revision = revisionOf(next);
    await fleet().patchPool(namespace, 'web', { template: next });
    await until(async () => {
      const { status } = (await fleet().pool(namespace, 'web'))!;
      expect(status).toMatchObject({
        updatedReplicas: VMS,
        readyReplicas: VMS,
        currentRevision: revision,
        updateRevision: revision,
      });
    });
    await watch.caughtUp();
    for (const name of namesUpTo('web', VMS))
      expect(watch.log.restartsOf(name).map(({ startedWith }) => startedWith)).toEqual([revision]);
    expect(watch.log.mostUnavailable({ replicas: VMS })).toBeLessThanOrEqual(2);
    expect(watch.gaps).toEqual([]);
  },
);
