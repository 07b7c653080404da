import { expect, test } from 'vitest';
import { readKubeVirtPool } from '../../../api/manifest/kubevirt-pool.ts';
import { toKubeVirtPool } from '../../../api/manifest/to-kubevirt-pool.ts';
import type { PoolSpec } from '../../../api/pool/pool.ts';

const template: PoolSpec['template'] = {
  metadata: { labels: { app: 'web' } },
  spec: { runStrategy: 'Always', template: { spec: { domain: {} } } },
};

const back = (spec: object): PoolSpec => {
  const document = {
    apiVersion: 'pool.kubevirt.io/v1beta1',
    kind: 'VirtualMachinePool',
    metadata: { name: 'web' },
    spec,
  };
  const reading = readKubeVirtPool(document, () => undefined);
  if ('findings' in reading) throw new Error(JSON.stringify(reading.findings));
  return reading.object.spec as PoolSpec;
};

test('a pool that KubeVirt can express comes back as it was', () => {
  const spec: PoolSpec = {
    replicas: 4,
    template: { ...template, metadata: { ...template.metadata, annotations: { a: 'b' } } },
    maxUnavailable: 2,
    nameGeneration: { appendPostfixToSecretReferences: true, appendPostfixToConfigMapReferences: false },
    updateStrategy: { proactive: { selectionPolicy: { basePolicy: 'Oldest' } } },
    scaleInStrategy: { proactive: { selectionPolicy: { basePolicy: 'Newest' }, statePreservation: 'Offline' } },
    autohealing: { startupFailureThreshold: 5, minFailingToStartDuration: '2m' },
    paused: true,
    selector: { matchLabels: { app: 'web' } },
  };
  expect(back(toKubeVirtPool('web', spec).spec)).toEqual(spec);
  for (const strategy of [{ unmanaged: {} }, { opportunistic: {} }] as const) {
    const { updateStrategy, scaleInStrategy } = back(
      toKubeVirtPool('web', { ...spec, updateStrategy: strategy, scaleInStrategy: strategy }).spec,
    );
    expect({ updateStrategy, scaleInStrategy }).toEqual({ updateStrategy: strategy, scaleInStrategy: strategy });
  }
});

test("drover's defaults are written out, and a selector is found for VMs without labels", () => {
  const { spec, notes } = toKubeVirtPool('web', { replicas: 1, template: { spec: template.spec } });
  expect(notes).toEqual([]);
  expect(spec).toMatchObject({
    maxUnavailable: '25%',
    selector: { matchLabels: { 'kubevirt.io/vmpool': 'web' } },
    virtualMachineTemplate: { metadata: { labels: { 'kubevirt.io/vmpool': 'web' } } },
  });
});

test('fields that KubeVirt cannot express are reported', () => {
  const { notes } = toKubeVirtPool('web', {
    replicas: 1,
    template,
    rollout: { minReadySeconds: 5 },
    updateStrategy: {
      proactive: {
        disruption: 'Live',
        selectionPolicy: { orderedPolicies: [{ labelSelector: { matchLabels: { a: 'b' } } }] },
      },
    },
    autohealing: { maxAttempts: 3 },
  });
  expect(notes.map((line) => line.split(' ')[0])).toEqual([
    'spec.rollout',
    'spec.updateStrategy.proactive.disruption',
    'spec.updateStrategy:',
    'spec.autohealing.maxAttempts:',
    'spec.autohealing:',
  ]);
});
