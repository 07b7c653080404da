import { expect, test } from 'vitest';
import { REVISION_LABEL } from '../../../api/labels-and-annotations.ts';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { VirtualMachineInstances } from '../../../api/resources.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { aFleet, namesUpTo, runningTemplate, until } from '../fleet.ts';

const fleet = aFleet();

/** Returns the same template with another number of cores, which needs a restart. */
export const changed = (mark: string): PoolSpec['template'] => {
  const template = structuredClone(runningTemplate);
  const vmi = template.spec.template as { spec: { domain: Record<string, unknown> } };
  vmi.spec.domain['cpu'] = { cores: mark.length };
  return template;
};

test('a change of the template reaches every VM, and each restarts once', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 8, template: runningTemplate });
  await until(async () => expect((await fleet().pool(namespace, 'web'))?.status).toMatchObject({ readyReplicas: 8 }));
  const before = await fleet().kube.list(VirtualMachineInstances, { namespace });
  const template = changed('ab');
  await fleet().patchPool(namespace, 'web', { template });
  const revision = revisionOf(template);
  await until(async () => {
    const { status } = (await fleet().pool(namespace, 'web'))!;
    expect(status).toMatchObject({
      updatedReplicas: 8,
      readyReplicas: 8,
      currentRevision: revision,
      updateRevision: revision,
    });
  });
  const after = await fleet().kube.list(VirtualMachineInstances, { namespace });
  expect(after.items.map((vmi) => vmi.metadata.name).sort()).toEqual(namesUpTo('web', 8).sort());
  for (const vmi of after.items) {
    expect(vmi.metadata.labels?.[REVISION_LABEL]).toBe(revision);
    expect(before.items.map((one) => one.metadata.uid)).not.toContain(vmi.metadata.uid);
  }
});
